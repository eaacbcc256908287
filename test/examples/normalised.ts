import type { Recorded } from '../../src/api/openapi/recorded.ts'
export const normalised = (r: Record<string, Recorded>): Record<string, Recorded> => r
