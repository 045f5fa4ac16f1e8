import type { Api } from '../api/api.ts'
import type { FindFunctionNames } from '../verify/functionNames.ts'
import type { Submission, SubmitSources, Verification } from '../verify/submitSources.ts'
import { type Parameters, RequestError } from './parameters.ts'

/** Parts that actions use. */
export interface EtherscanContext
  extends Pick<Api, 'queries' | 'services' | 'config' | 'node' | 'cache' | 'nodeHeight'>,
    Pick<Verification, 'verifier'> {
  readonly functionNames: FindFunctionNames
  /** passes the request's sources to the verifier, within the client's limits */
  readonly submitSources: (submission: Submission) => ReturnType<SubmitSources>
  /**
   * Runs a question that has the node execute code or take a transaction. There is room for a few at a time.
   * @throws RequestError when there is no room, or it takes too long
   */
  readonly takeTurn: <T>(ask: () => Promise<T>) => Promise<T>
}

/** An answer as Etherscan writes it; those of the module proxy are JSON-RPC's. */
export interface Answer {
  /** 2: the answer lacks what is not known, as `message` says */
  readonly status: '0' | '1' | '2'
  readonly message: string
  readonly result: unknown
}

/**
 * Answers one action.
 * @throws RequestError when the parameters do not fit
 */
export type Action = (parameters: Parameters, context: EtherscanContext) => Promise<Answer>

/** One module's actions: by name in lower case. */
export type Actions = ReadonlyMap<string, Action>

/** @param actions by their names as Etherscan writes them */
export function actionsOf(actions: Readonly<Record<string, Action>>): Actions {
  return new Map(Object.entries(actions).map(([name, action]) => [name.toLowerCase(), action]))
}

export function ok(result: unknown): Answer {
  return { status: '1', message: 'OK', result }
}

export function failed(result: string): Answer {
  return { status: '0', message: 'NOTOK', result }
}

/** A list: clients know an empty one by status and text. */
export function listed(rows: readonly unknown[], whenEmpty: string): Answer {
  return rows.length > 0 ? ok(rows) : { status: '0', message: whenEmpty, result: [] }
}

/** A list that lacks unknown rows, in the form of Blockscout: clients that need complete lists refuse any status except 1. */
export function listedInPart(rows: readonly unknown[], missing: string): Answer {
  return { status: '2', message: missing, result: rows }
}

/** The answer to what would take too much work, in the words that clients know from Etherscan. */
export function tooMuch(): RequestError {
  return new RequestError('Query Timeout occured. Please select a smaller result dataset')
}
