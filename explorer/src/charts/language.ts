/*
 * uPlot asks for the number format of the browser's language when it loads. Chromium reports "en-US@posix", which is not
 * a language tag, where LANG is C, and the page would stay empty. The explorer's numbers look the same in all languages.
 */
Object.defineProperty(navigator, 'language', { value: 'en-GB' })
