import { bigIntToBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { NEXT_PROPOSAL_ID_KEY, proposalKey } from './keys.ts'
import { Proposal } from './types.ts'

/** The proposal with this id; undefined when there never was one, it was cancelled, or it expired in deposit. */
export function getProposal(native: Pick<NativeStore, 'get'>, id: bigint): Proposal | undefined {
  const value = id >= 0n && id < 2n ** 64n ? native.get(proposalKey(id)) : undefined
  return value && Proposal.decode(value)
}

export function putProposal(native: Pick<NativeStore, 'set'>, proposal: Proposal): void {
  native.set(proposalKey(proposal.id), Proposal.encode(proposal))
}

export function deleteProposal(native: Pick<NativeStore, 'delete'>, id: bigint): void {
  native.delete(proposalKey(id))
}

/** The id that the next proposal gets. */
export function nextProposalId(native: Pick<NativeStore, 'get'>): bigint {
  const value = native.get(NEXT_PROPOSAL_ID_KEY)
  if (value === undefined) throw new Error('the gov module has no next proposal id')
  return bytesToBigInt(value)
}

export function setNextProposalId(native: Pick<NativeStore, 'set'>, id: bigint): void {
  native.set(NEXT_PROPOSAL_ID_KEY, bigIntToBytes(id, 8))
}

/** A time of a stored proposal in milliseconds. */
export function proposalTimeMs(nanos: bigint | undefined): number {
  if (nanos === undefined) throw new Error('a time of a proposal is missing')
  return Number(nanos / 1_000_000n)
}

export function nanosOf(timeMs: number): bigint {
  return BigInt(timeMs) * 1_000_000n
}
