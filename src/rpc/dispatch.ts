import type { RpcLimits } from '../config/config.ts'
import type { SocketMetrics } from '../telemetry/metrics/socketMetrics.ts'
import { positionalParams } from './arguments.ts'
import { type BatchCall, runBatch } from './batch.ts'
import { before } from './deadline.ts'
import {
  errorResponse,
  invalidRequest,
  parseError,
  type RpcLog,
  responseTooLarge,
  resultResponse,
  timedOut,
  toRpcError,
} from './errorResponse.ts'
import type { Message } from './message.ts'
import { parseRequest } from './message.ts'
import { ORDERED_METHODS } from './methodTable.ts'
import { createMethodRunner, type MethodRunner, type MethodRunnerOptions } from './runMethod.ts'
import type { Session } from './session.ts'

export interface DispatcherOptions extends MethodRunnerOptions {
  readonly limits: Pick<RpcLimits, 'batchItems' | 'responseBytes'>
  /** milliseconds for one request, a whole batch included */
  readonly requestTimeoutMs?: number
  readonly log: RpcLog
  readonly metrics?: Pick<SocketMetrics, 'requestsTotal' | 'requestSeconds'> | undefined
}

/** Answers JSON-RPC requests of any transport. */
export interface Dispatcher {
  /**
   * The JSON text of the answer to the text of a request; undefined when nothing is to be answered (notifications).
   * Never rejects. `session` is the connection when it can carry notifications.
   */
  answer(text: string, session?: Session): Promise<string | undefined>
}

const REQUEST_TIMEOUT_MS = 30_000

/** JSON-RPC 2.0 with geth's rules and texts (rpc/handler.go). */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const run = createMethodRunner(options)
  return {
    answer: async (text, session) => {
      try {
        return await answerText(options, run, text, session)
      } catch (error) {
        return errorResponse('null', toRpcError(error, options.log, {}))
      }
    },
  }
}

async function answerText(
  options: DispatcherOptions,
  run: MethodRunner,
  text: string,
  session: Session | undefined,
): Promise<string | undefined> {
  const { limits, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  const deadlineMs = performance.now() + requestTimeoutMs
  const request = parseRequest(text, limits.batchItems)
  if (request === undefined) return errorResponse('null', parseError())
  const { isBatch, isTooLong, messages } = request
  const answerOne = (message: Message) => answerMessage(options, run, message, session, deadlineMs)
  if (!isBatch) return withinSize(messages[0]!, await answerOne(messages[0]!), limits.responseBytes)
  if (messages.length === 0) return errorResponse('null', invalidRequest('empty batch'))
  if (isTooLong) return batchTooLarge(messages)
  const calls = messages.map(
    (message): BatchCall => ({
      id: idOf(message),
      isOrdered: 'method' in message && ORDERED_METHODS.has(message.method),
      expectsAnswer: message.kind === 'call' || message.kind === 'invalid',
      answer: () => answerOne(message),
    }),
  )
  const answers = await runBatch(calls, { maxBytes: limits.responseBytes, deadlineMs })
  return answers.length === 0 ? undefined : `[${answers.join(',')}]`
}

async function answerMessage(
  { log, metrics, methods }: DispatcherOptions,
  run: MethodRunner,
  message: Message,
  session: Session | undefined,
  deadlineMs: number,
): Promise<string | undefined> {
  if (message.kind === 'answer') return undefined
  if (message.kind === 'invalid') return errorResponse(message.id, invalidRequest())
  const { kind, id, method } = message
  const startMs = performance.now()
  let response: string
  let outcome = 'ok'
  try {
    const params = positionalParams(message.params)
    const result = run({ method, params, isNotification: kind === 'notification' }, session)
    response = resultResponse(id, typeof result === 'string' ? result : await before(deadlineMs, result, timedOut))
  } catch (thrown) {
    const error = toRpcError(thrown, log, { method: methods.has(method) ? method : 'unknown' })
    outcome = String(error.code)
    response = errorResponse(id, error)
  }
  const label = methods.has(method) ? method : 'unknown'
  metrics?.requestsTotal.inc({ method: label, outcome })
  metrics?.requestSeconds.observe({ method: label }, (performance.now() - startMs) / 1000)
  return kind === 'call' ? response : undefined
}

/** geth answers with a list of one error, which has the first call's id. */
function batchTooLarge(messages: readonly Message[]): string {
  const first = messages.find((message) => message.kind === 'call')
  return `[${errorResponse(idOf(first), invalidRequest('batch too large'))}]`
}

function withinSize(message: Message, response: string | undefined, maxBytes: number): string | undefined {
  if (response === undefined || Buffer.byteLength(response) <= maxBytes) return response
  return errorResponse(idOf(message), responseTooLarge())
}

function idOf(message: Message | undefined): string {
  return message !== undefined && 'id' in message ? message.id : 'null'
}
