import type { CallRights, RpcLimits } from '../../config/config.ts'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import { createEventLoopQuota, type EventLoopQuota } from '../transport/eventLoopQuota.ts'
import type { RateLimit } from '../transport/rateLimit.ts'
import { type BatchCall, orderOf, runBatch } from './batch.ts'
import { type CallScope, monotonicMs } from './callScope.ts'
import {
  errorResponse,
  invalidRequest,
  RpcError,
  type RpcLog,
  responseTooLarge,
  timedOut,
  toRpcError,
} from './errors.ts'
import { type Message, parseRequest } from './message.ts'
import { positionalParams } from './method.ts'
import { type AnswerText, answerLength, answerString, resultAnswer } from './resultText.ts'
import { createMethodRunner, type MethodRunner, type MethodRunnerOptions, type Session } from './runMethod.ts'

export interface DispatcherOptions extends Omit<MethodRunnerOptions, 'quota'> {
  readonly limits: Pick<RpcLimits, 'batchItems' | 'responseBytes'>
  /** whether quick methods may run in this thread; true by default */
  readonly runsQuickCalls?: boolean
  /** counts the calls of a batch */
  readonly rateLimit?: Pick<RateLimit, 'charge'>
  /** of all requests to this dispatcher; by default those of their scopes */
  readonly rights?: CallRights
  readonly log: RpcLog
  readonly metrics?: Pick<SocketMetrics, 'requestsTotal' | 'requestSeconds' | 'refusedTotal'> | undefined
}

/** Answers JSON-RPC requests of any transport. */
export interface Dispatcher {
  /**
   * Returns the JSON text of the answer to the text of a request; undefined when nothing is to be
   * answered (notifications). Never rejects.
   * @param scope the client and the deadline
   * @param session the connection when it can carry notifications
   */
  answer(text: string, scope: CallScope, session?: Session): Promise<AnswerText | undefined>
  /** Returns the answer to a request that is not run because of `error`. */
  refuse(text: string, error: RpcError): string | undefined
}

/** A longer text is refused without its id. */
const MAX_REFUSED_LENGTH = 4_096
/**
 * Quick calls (of at most 60 µs each) in one turn of the event loop, before other connections have
 * a turn.
 */
const QUICK_CALLS = 128

/** Implements JSON-RPC 2.0 with geth's rules and texts (rpc/handler.go). */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const quota = options.runsQuickCalls === false ? undefined : createEventLoopQuota(QUICK_CALLS)
  const run = createMethodRunner({ ...options, quota })
  return {
    answer: async (text, scope, session) => {
      try {
        const withRights = options.rights === undefined ? scope : { ...scope, ...options.rights }
        return await answerText(options, run, quota, text, { scope: withRights, session })
      } catch (error) {
        return errorResponse('null', toRpcError(error, options.log, {}))
      }
    },
    refuse: refuseText,
  }
}

async function answerText(
  options: DispatcherOptions,
  run: MethodRunner,
  quota: EventLoopQuota | undefined,
  text: string,
  from: Origin,
): Promise<AnswerText | undefined> {
  const { limits, metrics } = options
  const request = parseRequest(text, limits.batchItems)
  if (request instanceof RpcError || request.isTooLong) metrics?.refusedTotal.inc({ reason: 'text' })
  if (request instanceof RpcError) return errorResponse('null', request)
  const { isBatch, isTooLong, messages } = request
  options.rateLimit?.charge(from.scope.client, Math.max(0, messages.length - 1))
  const answerOne = (message: Message) => answerMessage(options, run, message, { ...from, isInBatch: isBatch })
  if (!isBatch) return withinSize(messages[0]!, await answerOne(messages[0]!), limits.responseBytes)
  if (messages.length === 0) return errorResponse('null', invalidRequest('empty batch'))
  if (isTooLong) return batchTooLarge(messages)
  const calls = messages.map(
    (message): BatchCall => ({
      id: idOf(message),
      order: 'method' in message ? orderOf(message.method) : 'free',
      expectsAnswer: message.kind === 'call' || message.kind === 'invalid',
      answer: async () => {
        const answer = await answerOne(message)
        return answer && answerString(answer)
      },
    }),
  )
  const answers = await runBatch(calls, { maxBytes: limits.responseBytes, scope: from.scope, quota })
  return answers.length === 0 ? undefined : `[${answers.join(',')}]`
}

/** The connection that a request comes from. */
interface Origin {
  readonly scope: CallScope
  readonly session: Session | undefined
}

/** State that the messages of one request share. */
interface RequestScope extends Origin {
  readonly isInBatch: boolean
}

async function answerMessage(
  { log, metrics, methods }: DispatcherOptions,
  run: MethodRunner,
  message: Message,
  { scope, session, isInBatch }: RequestScope,
): Promise<AnswerText | undefined> {
  if (message.kind === 'answer') return undefined
  if (message.kind === 'invalid') return errorResponse(message.id, invalidRequest())
  const { kind, id, method } = message
  const startMs = performance.now()
  let response: AnswerText
  let outcome = 'ok'
  try {
    const params = positionalParams(message.params)
    const result = run({ method, params, scope, isNotification: kind === 'notification', isInBatch }, session)
    response = resultAnswer(
      id,
      result instanceof Promise ? await withDeadline(scope.deadlineMs, result, timedOut) : result,
    )
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

/** geth answers with a list of one error that has the first call's id. */
function batchTooLarge(messages: readonly Message[]): string {
  const first = messages.find((message) => message.kind === 'call')
  return `[${errorResponse(idOf(first), invalidRequest('batch too large'))}]`
}

/**
 * Refusing must cost less than answering: of a batch only the first message is read, of a long text
 * nothing.
 */
function refuseText(text: string, error: RpcError): string | undefined {
  const request = text.length > MAX_REFUSED_LENGTH ? undefined : parseRequest(text, 1)
  if (request === undefined || request instanceof RpcError) return errorResponse('null', error)
  const [first] = request.messages
  if (first?.kind === 'notification' || first?.kind === 'answer') return undefined
  const response = errorResponse(idOf(first), error)
  return request.isBatch ? `[${response}]` : response
}

function withinSize(message: Message, response: AnswerText | undefined, maxBytes: number): AnswerText | undefined {
  if (response === undefined || answerLength(response) <= maxBytes) return response
  return errorResponse(idOf(message), responseTooLarge())
}

function idOf(message: Message | undefined): string {
  return message !== undefined && 'id' in message ? message.id : 'null'
}

/**
 * Returns the outcome of `work`, or the error of `onTimeout` when `work` has not ended at
 * `deadlineMs` (see `CallScope`). A late outcome is dropped; work in a view thread stops at the
 * same deadline.
 */
function withDeadline<T>(deadlineMs: number, work: Promise<T>, onTimeout: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const leftMs = deadlineMs - monotonicMs()
      // A timer may fire early; the deadline must have passed when the caller sees the timeout.
      if (leftMs > 0) timer = setTimeout(wait, leftMs + 1)
      else reject(onTimeout())
    }
    timer = setTimeout(wait, Math.max(0, deadlineMs - monotonicMs()) + 1)
    // A late outcome changes nothing: by then the promise is settled.
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
