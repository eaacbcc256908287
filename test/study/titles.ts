/** The tiers in words. */
export const tierTitles: Readonly<Record<string, string>> = {
  developed: 'developed',
  mainstreamEM: 'mainstream emerging',
  frontierEM: 'frontier',
  pegged: 'pegged',
}
