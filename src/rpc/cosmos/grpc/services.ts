import { type DescMethod, type FileRegistry, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type ConnectRouter, createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { SocketMetrics } from '../../../telemetry/metrics.ts'
import { type CallScope, monotonicMs, scopeOf } from '../../jsonrpc/callScope.ts'
import { typesOfAny } from '../anyTypes.ts'
import type { NativePort, NativeQuery, QueryTable } from '../queryPort.ts'
import { describeMethods } from './descriptors.ts'
import { REFLECTIONS, type Reflected, reflect } from './reflection.ts'
import { reflectedFiles } from './sdkFiles.ts'

export interface GrpcServicesOptions {
  readonly queries: QueryTable
  readonly port: NativePort
  readonly metrics?: Pick<SocketMetrics, 'requestsTotal' | 'requestSeconds'> | undefined
}

/** Whom a request counts for; set by the way in. */
export const GRPC_CLIENT = createContextKey('', { description: 'client' })

/** How a way in counts what a request takes of it beside being one; by default it does not. */
interface GrpcAccount {
  /** Seconds until the client may send a further message in a stream; 0: now. */
  admitMessage(): number
  /** Bytes of an answer will wait until the client has read them. */
  holdAnswer(bytes: number): void
}

export const GRPC_ACCOUNT = createContextKey<GrpcAccount>(
  { admitMessage: () => 0, holdAnswer: () => undefined },
  { description: 'account' },
)

const HEIGHT_HEADER = 'x-cosmos-block-height'

/**
 * All queries of the native layer as services of gRPC, with reflection, for a router of any transport. The metadata `x-cosmos-block-height`
 * says whose state is asked for, and in the answer whose was read.
 */
export function grpcServices(options: GrpcServicesOptions): (router: ConnectRouter) => void {
  const files = describeMethods([...options.queries.values(), ...REFLECTIONS], typesOfAny())
  const services = [...files].filter(({ kind }) => kind === 'service').map(({ typeName }) => typeName)
  // Most clients never ask.
  let reflected: Reflected | undefined
  const toReflect = (): Reflected => {
    reflected ??= { files: reflectedFiles(files), services }
    return reflected
  }
  return (router) => {
    for (const query of options.queries.values()) {
      const method = methodOf(files, query.path)
      router.rpc(method as DescMethod & { methodKind: 'unary' }, async (request: Message, context: HandlerContext) =>
        answer(options, query, method, request, context),
      )
    }
    for (const reflection of REFLECTIONS) {
      const method = methodOf(files, reflection.path)
      router.rpc(
        method as DescMethod & { methodKind: 'bidi_streaming' },
        (requests: AsyncIterable<Message>, context: HandlerContext) =>
          reflect(
            toReflect(),
            reflection,
            [method.input, method.output],
            admitted(requests, context),
            context.values.get(GRPC_ACCOUNT).holdAnswer,
          ),
      )
    }
  }
}

/** The messages of a stream; each counts as a request. @throws ConnectError when there are too many */
async function* admitted(messages: AsyncIterable<Message>, { values }: HandlerContext): AsyncIterable<Message> {
  const account = values.get(GRPC_ACCOUNT)
  for await (const message of messages) {
    const seconds = account.admitMessage()
    if (seconds > 0) throw tooManyRequests(seconds)
    yield message
  }
}

/** @param seconds after which the client may come again */
export function tooManyRequests(seconds: number): ConnectError {
  return new ConnectError(`too many requests: try again in ${seconds} s`, Code.ResourceExhausted)
}

function methodOf(files: FileRegistry, path: string): DescMethod {
  const [, service = '', name = ''] = path.split('/')
  const method = files.getService(service)?.methods.find((candidate) => candidate.name === name)
  if (method === undefined) throw new Error(`${path} is not described`)
  return method
}

async function answer(
  { port, metrics }: GrpcServicesOptions,
  { path, runs }: NativeQuery,
  method: DescMethod,
  request: Message,
  context: HandlerContext,
): Promise<Message> {
  const startMs = performance.now()
  const height = readHeight(context.requestHeader.get(HEIGHT_HEADER))
  const protobuf = toBinary(method.input, request)
  const answered = await port.query(runs, { path, request: { protobuf }, height }, scopeOfGrpc(context))
  metrics?.requestsTotal.inc({ method: path, outcome: answered.kind === 'error' ? String(answered.code) : 'ok' })
  metrics?.requestSeconds.observe({ method: path }, (performance.now() - startMs) / 1000)
  if (answered.kind === 'error') throw new ConnectError(answered.message, answered.code as Code)
  if (answered.kind !== 'protobuf') throw new Error('a view thread answered in another form than it was asked')
  context.values.get(GRPC_ACCOUNT).holdAnswer(answered.protobuf.length)
  context.responseHeader.set(HEIGHT_HEADER, String(answered.height))
  return fromBinary(method.output, answered.protobuf)
}

/** Until the node's own deadline, or the client's where that is earlier. */
function scopeOfGrpc(context: HandlerContext): CallScope {
  const scope = scopeOf(context.values.get(GRPC_CLIENT), context.signal)
  const timeoutMs = context.timeoutMs()
  return timeoutMs === undefined
    ? scope
    : { ...scope, deadlineMs: Math.min(scope.deadlineMs, monotonicMs() + timeoutMs) }
}

/** @throws ConnectError */
function readHeight(header: string | null): number {
  if (header === null || header === '') return 0
  const value = /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw new ConnectError(`invalid height header ${JSON.stringify(header.slice(0, 40))}`, Code.InvalidArgument)
}
