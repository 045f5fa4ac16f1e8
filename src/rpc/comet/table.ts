import { RPC_CODES } from '../errors.ts'
import type { CometType } from './params.ts'

/** One parameter of a method: every one may be left out. */
export interface CometParam<T = unknown> {
  readonly name: string
  readonly type: CometType<T>
}

/** One method of CometBFT's RPC, under GET /rpc/<name> and POST /rpc. The result is JSON-ready, or {@link RawJson}. */
export interface CometMethod {
  readonly name: string
  readonly params: readonly CometParam[]
  /**
   * @param args in the order of `params`; undefined: left out
   * @throws CometFailure
   */
  run(args: readonly unknown[]): unknown
}

export type CometTable = ReadonlyMap<string, CometMethod>

type ArgsOf<P extends readonly CometParam[]> = {
  [I in keyof P]: P[I] extends CometParam<infer T> ? T | undefined : never
}

/** Declares a method with typed arguments. */
export function defineCometMethod<const P extends readonly CometParam[]>(method: {
  readonly name: string
  readonly params: P
  readonly run: (...args: ArgsOf<P>) => unknown
}): CometMethod {
  return { name: method.name, params: method.params, run: (args) => method.run(...(args as ArgsOf<P>)) }
}

export function createCometTable(methods: readonly CometMethod[]): CometTable {
  return new Map(methods.map((method) => [method.name, method]))
}

/** CometBFT's error object (rpc/jsonrpc/types): a fixed message for each code, the reason in `data`. */
export class CometError extends Error {
  override readonly name = 'CometError'
  readonly code: number
  readonly data: string

  constructor(code: number, message: string, data: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** A method cannot answer; CometBFT calls every reason an internal error. */
export function cometFailure(reason: string): CometError {
  return new CometError(RPC_CODES.internal, 'Internal error', reason)
}
