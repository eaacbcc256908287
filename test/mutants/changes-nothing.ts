/**
 * Changes that Stryker makes and no caller can see, with the reason: by file, and by the code and what replaces it, as the
 * report shows them. They do not count.
 */
export const changesNothing: Readonly<Record<string, Readonly<Record<string, string>>>> = {}
