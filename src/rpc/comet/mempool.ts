import type { MempoolPort } from '../../mempool/types.ts'
import type { ContextLease } from '../runMethod.ts'
import type { Verifier } from '../verifier.ts'

/** What the methods that take and show transactions need of the node. */
export interface CometMempool {
  readonly verify: Verifier
  readonly pool: MempoolPort
  /** on the newest head */
  readonly lease: () => ContextLease
  /** told of what nobody waits for */
  readonly onError: (error: unknown) => void
}
