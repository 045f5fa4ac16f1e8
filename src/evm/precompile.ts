import type { Address } from '../primitives/address.ts'
import type { WorldState } from '../state/world.ts'
import type { BlockContext } from './blockContext.ts'

/** One call of a stateful precompile. */
export interface PrecompileCall {
  readonly caller: Address
  /** already moved to the precompile's account when it is not 0 */
  readonly value: bigint
  /** may be a view of memory that changes after the call: to be copied where it is kept or given back */
  readonly data: Uint8Array
  readonly gasLimit: bigint
  /** inside a STATICCALL: writes must fail */
  readonly isStatic: boolean
  /** called by DELEGATECALL or CALLCODE: the code runs for another account */
  readonly isDelegated: boolean
  readonly world: WorldState
  readonly block: BlockContext
}

/** `revert` keeps the gas that is left and carries revert data; `failure` takes all of it. */
export interface PrecompileResult {
  readonly status: 'success' | 'revert' | 'failure'
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** set when status is `failure`: geth's message */
  readonly failure?: string
}

/**
 * A contract inside the node. Synchronous, and it knows nothing of any engine; the engine undoes its writes when it does
 * not succeed. It never throws for what a caller can send.
 */
export interface StatefulPrecompile {
  readonly address: Address
  /** a call's overrides moved it here: it is not warm, as an account that has been here before the call is not */
  readonly isMoved?: true
  run(call: PrecompileCall): PrecompileResult
}

/** The stateful precompiles that a chain has registered, by `bytesKey(address)`. */
export type PrecompileTable = ReadonlyMap<string, StatefulPrecompile>
