import { bytesToAmount } from '../database/amount.ts'

/* Values of the database as the API shows them. */

export function viewAmount(bytes: Uint8Array): string {
  return bytesToAmount(bytes).toString()
}

export function viewTime(ms: number): string {
  return new Date(ms).toISOString()
}
