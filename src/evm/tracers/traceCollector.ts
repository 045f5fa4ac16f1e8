import type { Hardfork } from '../../chain/genesis/hardfork.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { Tracer } from '../tracer.ts'

/** A tracer of one transaction, with its result in JSON. */
export interface TraceCollector {
  readonly tracer: Tracer
  /**
   * Returns the trace, ready for JSON, in geth's form. To be called after the run.
   * @throws TraceError when there is nothing to show
   */
  result(): unknown
}

/** The block and the index of the traced transaction; a call has no hashes. */
export interface TraceContext {
  readonly fork: Hardfork
  readonly blockNumber: number
  readonly blockHash: Hash | undefined
  readonly transactionHash: Hash | undefined
  readonly transactionIndex: number
  /** index in the block of the transaction's first log */
  readonly firstLogIndex: number
  /** the budget that the results of one answer share */
  readonly budget: TraceBudget
  /** makes a tracer of JavaScript; absent where the request does not have one, or may not */
  readonly createScript?: (code: string, config: TracerConfig, context: TraceContext) => TraceCollector
}

/** Why there is no trace, with geth's message where geth has one. */
export class TraceError extends Error {
  override readonly name = 'TraceError'
  /** the result would have been longer than allowed */
  readonly isTooLarge: boolean

  constructor(message: string, isTooLarge = false) {
    super(message)
    this.isTooLarge = isTooLarge
  }
}

/** JSON of a tracer's configuration: the request's value, of any type. */
export type TracerConfig = Readonly<Record<string, unknown>>

/**
 * Reads a switch of a tracer's configuration; off when it is not given.
 * @throws TraceError when it is not a boolean
 */
export function readSwitch(config: TracerConfig, name: string): boolean {
  const value = config[name] ?? false
  if (typeof value !== 'boolean') throw new TraceError(`invalid tracer configuration: ${name} is not a boolean`)
  return value
}

/** Returns a number in the JSON of a trace. */
export function quantity(value: bigint | number): string {
  return `0x${value.toString(16)}`
}

/** Counts the characters that a trace takes and fails when they are too many. */
export class TraceBudget {
  #left: number

  constructor(length: number) {
    this.#left = length
  }

  /** Takes `length` characters of the budget; false when it has fewer, then and from then on. */
  spend(length: number): boolean {
    this.#left -= length
    return this.#left >= 0
  }

  /** @throws TraceError when the trace got too long */
  check(): void {
    if (this.#left < 0) throw new TraceError('response too large', true)
  }
}
