import { RPC_CODES, RpcError } from './errors.ts'

/** The narrow part of a logger that RPC needs. */
export interface RpcLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Where an error came up, for the log. */
export type ErrorPlace = Readonly<Record<string, unknown>>

/** Errors with a text of their own for the client. By name: one that crossed threads has lost its class. */
const KNOWN_ERRORS: ReadonlyMap<string, (message: string) => RpcError> = new Map([
  ['InvalidArgument', (message: string) => new RpcError(RPC_CODES.invalidParams, message)],
  ['StateUnavailable', (message: string) => new RpcError(RPC_CODES.server, message)],
  ['ExecutionTimeout', () => timedOut()],
])

/**
 * The error that a client gets for anything that was thrown. What is not meant for clients is logged with `place` and
 * becomes `internal error`.
 */
export function toRpcError(error: unknown, log: Pick<RpcLog, 'error'>, place: ErrorPlace): RpcError {
  if (error instanceof RpcError) return error
  if (error instanceof Error) {
    if (isRemoteRpcError(error)) return new RpcError(error.code, error.message, error.data)
    const known = KNOWN_ERRORS.get(error.name)
    if (known !== undefined) return known(error.message)
    // V8's error for a text of more than 512 MB
    if (error instanceof RangeError && error.message === 'Invalid string length') return responseTooLarge()
  }
  log.error({ error, ...place }, 'an RPC method failed')
  return new RpcError(RPC_CODES.internal, 'internal error')
}

/** JSON text of a response with an error. `id` is JSON text. */
export function errorResponse(
  id: string,
  { code, message, data }: Pick<RpcError, 'code' | 'message' | 'data'>,
): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`
}

/** JSON text of a response with a result. `id` and `result` are JSON text. */
export function resultResponse(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
}

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

export function responseTooLarge(): RpcError {
  return new RpcError(RPC_CODES.responseTooLarge, 'response too large')
}

function isRemoteRpcError(error: Error): error is Error & { readonly code: number; readonly data?: unknown } {
  return error.name === 'RpcError' && 'code' in error && Number.isInteger(error.code)
}
