import { readFileSync } from 'node:fs'
import type { LightBlock } from '../../../independent/lightVerifier.ts'

/** What CometBFT 0.38.19 answered (kvstore, two validators), and how it writes values that a test network does not make. */
export const COMETBFT: {
  readonly answers: Readonly<Record<string, unknown>>
  /** four heights, one after the other */
  readonly light: readonly LightBlock[]
  readonly values: {
    readonly absentCommitSig: unknown
    readonly evidence: readonly unknown[]
    /** base64 */
    readonly evidenceBytes: string
    readonly evidenceHash: string
    readonly publicKey: string
    readonly nilVoteSignature: string
    readonly votes: readonly string[]
  }
} = JSON.parse(readFileSync(new URL('vectors/cometbft.json', import.meta.url), 'utf8'))
