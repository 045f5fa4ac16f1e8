/**
 * Gas of governance messages: about 20 ns of work or a tenth of a byte written for one gas. A vote also pays for the part
 * of a tally that reads and removes it, a deposit for its return.
 */
export const GOV_GAS = {
  /** besides the gas of the proposal's own messages, which run later without a meter */
  submitProposal: 150_000n,
  deposit: 60_000n,
  vote: 40_000n,
  cancelProposal: 80_000n,
  updateParams: 20_000n,
  execLegacyContent: 30_000n,
} as const
