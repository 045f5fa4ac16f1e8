import type { Address } from '../primitives/address.ts'
import type { WorldState } from '../state/world.ts'
import type { BlockContext } from './blockContext.ts'

/** One call of a stateful precompile. */
export interface PrecompileCall {
  readonly caller: Address
  /** already moved to the precompile's account when it is not 0 */
  readonly value: bigint
  /** may be a view of memory that changes after the call: copy it before storing or returning it */
  readonly data: Uint8Array
  readonly gasLimit: bigint
  /** inside a STATICCALL: writes must fail */
  readonly isStatic: boolean
  /** called by DELEGATECALL or CALLCODE: the code runs for another account */
  readonly isDelegated: boolean
  readonly world: WorldState
  readonly block: BlockContext
  /**
   * Prepares the engine for a change of the world; precompiles with `announcesWrites` call it
   * before. Further calls do nothing.
   */
  beforeWrite(): void
}

/** `revert` leaves the remaining gas and carries revert data; `failure` takes all gas. */
export interface PrecompileResult {
  readonly status: 'success' | 'revert' | 'failure'
  readonly output: Uint8Array
  readonly gasUsed: bigint
  /** set when status is `failure`: geth's message */
  readonly failure?: string
}

/**
 * A contract inside the node. Synchronous, and it knows nothing of any engine; the engine undoes its writes when it does
 * not succeed. It never throws for a caller's input. `run` executes a call; `leastGas`, `isIdle` and `announcesWrites`
 * declare beforehand facts about all calls, so that an engine can make the cheapest of them fast.
 */
export interface StatefulPrecompile {
  readonly address: Address
  /** A call with less fails with `out of gas`, whatever else it has. */
  readonly leastGas?: bigint
  /** A call without value, or a delegated one, succeeds, uses no gas, returns nothing and changes nothing. */
  readonly isIdle?: true
  /** It calls `beforeWrite` of each call that changes the world; without this every call may. */
  readonly announcesWrites?: true
  /** a call's overrides moved it here: it is not warm, as an account that has been here before the call is not */
  readonly isMoved?: true
  run(call: PrecompileCall): PrecompileResult
}

/** The stateful precompiles that a chain has registered, by `bytesKey(address)`. */
export type PrecompileTable = ReadonlyMap<string, StatefulPrecompile>
