import type { Log } from '../chain/block/receipt.ts'
import type { Address } from '../primitives/address.ts'
import type { WorldState } from '../state/world.ts'

export type FrameType = 'CALL' | 'STATICCALL' | 'DELEGATECALL' | 'CALLCODE' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

export interface FrameEnter {
  /** 0 for the transaction's own frame */
  readonly depth: number
  readonly type: FrameType
  readonly from: Address
  /** for a creation, the address that the contract gets */
  readonly to: Address
  readonly input: Uint8Array
  readonly gas: bigint
  /** undefined for STATICCALL; DELEGATECALL repeats its parent's */
  readonly value: bigint | undefined
  /** the callee is a standard precompile; stateful ones count as contracts */
  readonly precompile: boolean
}

export interface FrameExit {
  readonly depth: number
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** geth's message; `execution reverted` for REVERT; undefined on success */
  readonly error: string | undefined
  readonly reverted: boolean
}

/**
 * The machine before an opcode runs. Arrays are views that change after the hook returns: copy what
 * you store. When the opcode fails, its step still shows the same at the exit of its frame.
 */
export interface OpcodeStep {
  readonly pc: number
  readonly op: number
  readonly gas: bigint
  /** with dynamic cost; for the calls with the forwarded gas, as geth reports it */
  readonly gasCost: bigint
  /** 1 for the transaction's own frame */
  readonly depth: number
  readonly refund: bigint
  /** bottom first */
  readonly stack: readonly bigint[]
  readonly memory: Uint8Array
  readonly returnData: Uint8Array
  /** the account whose storage the frame uses */
  readonly address: Address
  readonly caller: Address
  /** why this opcode failed, in geth's message */
  readonly error: string | undefined
}

export interface TransactionStart {
  readonly world: WorldState
  readonly from: Address
  /** undefined for a creation */
  readonly to: Address | undefined
  readonly coinbase: Address
  readonly gasLimit: bigint
  /** acoin of a unit of gas beyond the base fee */
  readonly effectiveTip: bigint
  readonly authorities: readonly Address[]
}

interface TransactionEnd {
  readonly gasUsed: bigint
}

/** Hooks with geth's semantics (core/tracing). Every hook is optional: an engine does no work for an absent one. */
export interface Tracer {
  /** before gas is bought */
  onTransactionStart?(start: TransactionStart): void
  onTransactionEnd?(end: TransactionEnd): void
  onEnter?(frame: FrameEnter): void
  /**
   * An account that calls or is called, as `from` and `to` of `onEnter`; told at least once in a run. While blocks are decided only this
   * may watch: calls do not pay for their input, so that to copy it for each could take minutes.
   */
  onParty?(address: Address): void
  onExit?(frame: FrameExit): void
  onOpcode?(step: OpcodeStep): void
  onLog?(log: Log): void
  /** before a stateful precompile reads or changes an account, or a slot of its storage */
  onAccess?(account: Address, slot?: Uint8Array): void
}
