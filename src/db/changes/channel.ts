/** The PostgreSQL notification channel for commits and for new heads. */
export const CHANNEL = 'changes'
