/** A JSON-RPC error object's content. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  /** already in JSON form (hex strings) */
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Error codes of JSON-RPC 2.0, geth and EIP-1474 (only those that the node answers with). */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  resourceNotFound: -32001,
  timeout: -32002,
  responseTooLarge: -32003,
  limitExceeded: -32005,
  revert: 3,
  syncSendTimeout: 4,
  syncSendNotReady: 5,
  syncSendNonceGap: 6,
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  baseFeeTooLow: -38012,
  intrinsicGasTooLow: -38013,
  insufficientFunds: -38014,
  blockGasLimitReached: -38015,
  blockNumbersOutOfOrder: -38020,
  blockTimesOutOfOrder: -38021,
  senderIsContract: -38024,
  initCodeTooLarge: -38025,
  clientLimitExceeded: -38026,
  vmError: -32015,
  prunedHistory: 4444,
} as const

/** Returns an application error, code -32000. */
export function serverError(message: string): RpcError {
  return new RpcError(RPC_CODES.server, message)
}

/**
 * A parameter has a wrong value. The dispatcher puts `invalid argument N: ` before `why` and
 * answers -32602.
 */
export class InvalidArgument extends Error {
  override readonly name = 'InvalidArgument'
}

/** The part of a logger that RPC needs. */
export interface RpcLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
}

/**
 * Errors with a text of their own for the client, by name: an error from another thread has lost
 * its class.
 */
const KNOWN_ERRORS: ReadonlyMap<string, (message: string) => RpcError> = new Map([
  ['InvalidArgument', (message: string) => new RpcError(RPC_CODES.invalidParams, message)],
  ['StateUnavailable', (message: string) => new RpcError(RPC_CODES.server, message)],
  ['BlockUnavailable', (message: string) => new RpcError(RPC_CODES.prunedHistory, message)],
  ['ExecutionTimeout', () => timedOut()],
])

/**
 * Returns the error that a client gets for anything that was thrown. An error that is not meant for
 * clients is logged with `fields` and becomes `internal error`.
 */
export function toRpcError(
  error: unknown,
  log: Pick<RpcLog, 'error'>,
  fields: Readonly<Record<string, unknown>>,
): RpcError {
  if (error instanceof RpcError) return error
  if (error instanceof Error) {
    if (isRemoteRpcError(error)) return new RpcError(error.code, error.message, error.data)
    const known = KNOWN_ERRORS.get(error.name)
    if (known !== undefined) return known(error.message)
    // V8's error for a text of more than 512 MB.
    if (error instanceof RangeError && error.message === 'Invalid string length') return responseTooLarge()
  }
  log.error({ error, ...fields }, 'an RPC method failed')
  return new RpcError(RPC_CODES.internal, 'internal error')
}

/** Returns the JSON text of a response with an error. `id` is JSON text. */
export function errorResponse(
  id: string,
  { code, message, data }: Pick<RpcError, 'code' | 'message' | 'data'>,
): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`
}

/** Returns the error for a text that is not JSON. */
export function parseError(): RpcError {
  return new RpcError(RPC_CODES.parse, 'parse error')
}

export function invalidRequest(message = 'invalid request'): RpcError {
  return new RpcError(RPC_CODES.invalidRequest, message)
}

export function methodNotFound(name: string): RpcError {
  return new RpcError(RPC_CODES.methodNotFound, `the method ${name} does not exist/is not available`)
}

export function invalidParams(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, message)
}

export function timedOut(): RpcError {
  return new RpcError(RPC_CODES.timeout, 'request timed out')
}

/** Returns the error for a client that has to wait before its next request. */
export function rateLimited(seconds: number): RpcError {
  const message = `too many requests: try again in ${seconds} s`
  return new RpcError(RPC_CODES.limitExceeded, message, { rate: { backoff_seconds: seconds } })
}

export function responseTooLarge(): RpcError {
  return new RpcError(RPC_CODES.responseTooLarge, 'response too large')
}

function isRemoteRpcError(error: Error): error is Error & { readonly code: number; readonly data?: unknown } {
  return error.name === 'RpcError' && 'code' in error && Number.isInteger(error.code)
}
