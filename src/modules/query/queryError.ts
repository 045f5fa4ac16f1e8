import { SDK_ERRORS, type SdkError } from '../sdkError.ts'

/** The gRPC status codes (google.golang.org/grpc/codes) in answers to queries. */
export const GRPC_CODES = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const

type GrpcCode = (typeof GRPC_CODES)[keyof typeof GRPC_CODES]

/** Names as gRPC's errors spell them; clients look for them in texts (CosmJS: `code = NotFound`). */
const CODE_NAMES: Readonly<Record<GrpcCode, string>> = {
  1: 'Canceled',
  2: 'Unknown',
  3: 'InvalidArgument',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  8: 'ResourceExhausted',
  9: 'FailedPrecondition',
  12: 'Unimplemented',
  13: 'Internal',
  14: 'Unavailable',
}

/**
 * HTTP status of a code, as grpc-gateway has them, except for `unknown`: with it the SDK reports
 * that a simulated transaction fails, which is not the server's fault.
 */
const HTTP_STATUS: Readonly<Record<GrpcCode, number>> = {
  1: 408,
  2: 400,
  3: 400,
  4: 504,
  5: 404,
  8: 429,
  9: 400,
  12: 501,
  13: 500,
  14: 503,
}

/** Why a query has no answer. The message is for the client. */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  readonly code: GrpcCode
  /** the answer of abci_query, when it does not follow from the code */
  readonly abci: AbciFailure | undefined

  constructor(code: GrpcCode, message: string, abci?: AbciFailure) {
    super(message)
    this.code = code
    this.abci = abci
  }
}

/** The part of an error that is sent between threads. */
export type QueryFailure = Pick<QueryError, 'code' | 'message' | 'abci'>

export function invalidArgument(message: string): QueryError {
  return new QueryError(GRPC_CODES.invalidArgument, message)
}

export function notFound(message: string): QueryError {
  return new QueryError(GRPC_CODES.notFound, message)
}

export function tooLarge(): QueryError {
  return new QueryError(GRPC_CODES.resourceExhausted, 'the response is too large; ask for smaller pages')
}

/**
 * Returns a module's error as gRPC shows it (cosmossdk.io/errors, GRPCStatus): codespace and code
 * are in the text, gRPC's code is only a rough class.
 */
export function fromSdkError({ codespace, code, message }: SdkError): QueryError {
  const isAbsent = codespace === 'sdk' && (code === SDK_ERRORS.notFound[0] || code === SDK_ERRORS.keyNotFound[0])
  const grpcCode = isAbsent ? GRPC_CODES.notFound : GRPC_CODES.invalidArgument
  return new QueryError(grpcCode, `codespace ${codespace} code ${code}: ${message}`)
}

/** Returns an error as the gateway's JSON. */
export function restError({ code, message }: Pick<QueryError, 'code' | 'message'>): { status: number; json: string } {
  return { status: HTTP_STATUS[code], json: JSON.stringify({ code, message, details: [] }) }
}

/** The answer to a failed abci_query. */
export interface AbciFailure {
  readonly code: number
  readonly codespace: string
  readonly log: string
}

/** Converts an error as the SDK does for abci_query (baseapp/abci.go, gRPCErrorToSDKError). */
export function abciFailure({ code, message, abci }: QueryFailure): AbciFailure {
  if (abci !== undefined) return abci
  const [sdkCode, text] = SDK_ERRORS[abciErrorOf(code)]
  return { codespace: 'sdk', code: sdkCode, log: `rpc error: code = ${CODE_NAMES[code]} desc = ${message}: ${text}` }
}

function abciErrorOf(code: GrpcCode): keyof typeof SDK_ERRORS {
  if (code === GRPC_CODES.notFound) return 'keyNotFound'
  if (code === GRPC_CODES.invalidArgument || code === GRPC_CODES.failedPrecondition) return 'invalidRequest'
  return 'unknownRequest'
}

/** Returns the error of a transaction whose simulation fails. */
export function failedSimulation(reason: string, gasUsed: bigint): QueryError {
  return new QueryError(GRPC_CODES.unknown, `${reason} with gas used: '${gasUsed}'`)
}
