import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '../primitives/address.ts'
import type { EventLoopQuota } from './eventLoopQuota.ts'
import {
  type CheckedTransaction,
  type VerifiedTransaction,
  type VerifyContext,
  verifyTransaction,
} from './submitTransaction.ts'

export interface VerifierOptions extends VerifyContext {
  /** for signatures that are checked here; undefined: none are */
  readonly turn: EventLoopQuota | undefined
  /** checks signatures in other threads: who sent each transaction, undefined for a wrong one */
  readonly recoverSenders: (transactions: readonly Uint8Array[]) => Promise<readonly (Address | undefined)[]>
}

/** See {@link verifyTransaction}. */
export type Verifier = (raw: Uint8Array) => Promise<VerifiedTransaction | CheckedTransaction>

/**
 * Checks transactions in a thread with sockets: the signatures there as long as the turn of the event loop has time left, else in
 * another thread. What is wrong with a transaction is found out here, when there is time for it.
 */
export function createVerifier({ turn, recoverSenders, ...context }: VerifierOptions): Verifier {
  return async (raw) => {
    if (turn?.take() === true) return verifyTransaction(context, raw)
    const [sender] = await recoverSenders([raw])
    if (sender !== undefined) return verifyTransaction(context, raw, sender)
    while (turn?.take() === false) await nextTurn()
    return verifyTransaction(context, raw)
  }
}
