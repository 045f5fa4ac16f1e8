import type { NetInfo } from '../../p2p/netInfo.ts'

/** What became of evidence that a client sent; `reason` says why it was not taken. */
export type EvidenceReport = { readonly accepted: true } | { readonly accepted: false; readonly reason: string }

/** What the methods ask of the threads that consensus and the network run in. */
export interface CometNode {
  /** The present height as JSON (roundStateJson.ts), made where consensus runs; undefined while it does not. */
  roundState(form: 'simple' | 'full'): Promise<Readonly<Record<string, unknown>> | undefined>
  network(): Promise<NetInfo>
  /** @param evidence protobuf of tendermint.types.DuplicateVoteEvidence; it is evidence against a validator, new or not */
  submitEvidence(evidence: Uint8Array): Promise<EvidenceReport>
}
