/** The node's answer is missing or wrong. The message is one line for the operator, without the URL's query. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
}

/** The node answered a call with an error of its own. */
export class NodeRefusal extends NodeError {
  readonly code: number
  /** the node's own words */
  readonly reason: string
  /** more about it: for a reverted call, the returned bytes as 0x… */
  readonly data: unknown

  constructor(method: string, code: number, reason: string, data?: unknown) {
    super(`the node rejected ${method} (${reason}${typeof data === 'string' ? `: ${data}` : ''})`)
    this.code = code
    this.reason = reason
    this.data = data
  }
}

/** No server listens at the node's address: the node starts, or is down. */
export class NodeDown extends NodeError {}

/** The answers to a batch, or one of them, exceed the size limit. */
export class AnswerTooLong extends NodeError {}

/** One call of a batch. */
interface Call {
  readonly method: string
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>
}

const TIMEOUT_MS = 30_000
/** Characters of one answer. A batch is at most this long by RPC_RESPONSE_LIMIT's default too. */
const MAX_BYTES = 64 * 1024 * 1024

/** The RPC of a node: JSON-RPC, CometBFT's methods below /rpc and REST below /cosmos, as any client reaches them. */
export interface NodeClient {
  /**
   * Answers to Ethereum's methods, in the order of the calls.
   * @throws NodeError when the node cannot be reached; NodeRefusal when it refuses a call
   */
  ethereum(calls: readonly Call[]): Promise<readonly unknown[]>
  /** The same for CometBFT's methods. */
  comet(calls: readonly Call[]): Promise<readonly unknown[]>
  /**
   * The answer to GET `path`, as JSON.
   * @param height asks for the state after this block
   * @throws NodeError without an answer
   */
  rest(path: string, height?: number): Promise<unknown>
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/**
 * @param address http://host:port/ of the node
 * @param stop ends every request that is under way
 */
export function createNodeClient(address: string, stop: AbortSignal): NodeClient {
  const root = new URL(address)
  const shown = `${root.origin}${root.pathname}`
  // A node without TLS is near, where compressing an answer takes more time than sending it: a fifth of what catching up costs.
  const encoding: Record<string, string> = root.protocol === 'http:' ? { 'accept-encoding': 'identity' } : {}

  const ask = async (
    path: string,
    options: RequestInit & { readonly headers: Readonly<Record<string, string>> },
  ): Promise<string> => {
    const url = new URL(path, address.endsWith('/') ? address : `${address}/`)
    url.search ||= root.search
    try {
      const response = await fetch(url, {
        ...options,
        headers: { ...encoding, ...options.headers },
        redirect: 'error',
        signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      if (response.status === 429)
        throw new NodeError(`${shown} accepts no more requests at the moment (RPC_RATE_LIMIT of the node)`)
      const text = await readText(response)
      if (response.ok || text.startsWith('{') || text.startsWith('[')) return text
      throw new NodeError(`${shown} responds with status ${response.status}`)
    } catch (error) {
      if (stop.aborted) throw stop.reason
      if (error instanceof NodeError) throw error
      const reason = reasonOf(error)
      const Kind = reason === 'ECONNREFUSED' ? NodeDown : NodeError
      throw new Kind(`${shown} cannot be reached (${reason})`)
    }
  }

  const askBatch = async (path: string, calls: readonly Call[]): Promise<readonly Answer[] | Answer> => {
    const body = JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params })))
    const text = await ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return parse(text, shown) as readonly Answer[] | Answer
  }

  /** By path: the most calls that the node has not refused as a whole. */
  const most = new Map<string, number>()

  /**
   * The limits of the node (RPC_BATCH_LIMIT, RPC_RESPONSE_LIMIT) are its own: calls of a batch that get no answer are asked for again,
   * fewer at once, until one alone is refused.
   */
  const call = async (path: string, calls: readonly Call[]): Promise<readonly unknown[]> => {
    if (calls.length === 0) return []
    const size = Math.min(most.get(path) ?? calls.length, calls.length)
    if (size < calls.length)
      return [...(await call(path, calls.slice(0, size))), ...(await call(path, calls.slice(size)))]
    let parsed: readonly Answer[] | Answer
    try {
      parsed = await askBatch(path, calls)
    } catch (error) {
      if (!(error instanceof AnswerTooLong) || size === 1) throw error
      return callHalves(path, calls)
    }
    if (isList(parsed)) return complete(path, calls, parsed)
    // CometBFT answers a batch of one call, and one that it refuses as a whole, with an object.
    if (size === 1) return [resultOf(calls[0]!, parsed)]
    most.set(path, Math.ceil(size / 2))
    return callHalves(path, calls)
  }

  const callHalves = async (path: string, calls: readonly Call[]): Promise<readonly unknown[]> => {
    const half = Math.ceil(calls.length / 2)
    return [...(await call(path, calls.slice(0, half))), ...(await call(path, calls.slice(half)))]
  }

  const complete = async (
    path: string,
    calls: readonly Call[],
    answers: readonly Answer[],
  ): Promise<readonly unknown[]> => {
    const byId = new Map(answers.filter(({ error }) => error === undefined).map((answer) => [answer.id, answer.result]))
    const lacking = calls.filter((_, id) => !byId.has(id))
    if (lacking.length === 0) return calls.map((_, id) => byId.get(id))
    if (calls.length === 1) return [resultOf(calls[0]!, answers[0])]
    const again = await (lacking.length < calls.length ? call(path, lacking) : callHalves(path, lacking))
    const rest = again[Symbol.iterator]()
    return calls.map((_, id) => (byId.has(id) ? byId.get(id) : rest.next().value))
  }

  const resultOf = ({ method }: Call, answer: Answer | undefined): unknown => {
    if (answer === undefined || (answer.error === undefined && answer.result === undefined))
      throw new NodeError(`${shown} did not answer ${method} in a batch`)
    if (answer.error === undefined) return answer.result
    throw new NodeRefusal(method, answer.error.code, answer.error.message, answer.error.data)
  }

  return {
    ethereum: (calls) => call('', calls),
    comet: (calls) => call('rpc', calls),
    rest: async (path, height) => {
      const headers: Record<string, string> = height === undefined ? {} : { 'x-cosmos-block-height': String(height) }
      const text = await ask(path.replace(/^\//, ''), { headers })
      const answer = parse(text, shown) as { readonly code?: number; readonly message?: string } | null
      if (typeof answer?.code === 'number' && typeof answer.message === 'string') {
        throw new NodeRefusal(path, answer.code, answer.message)
      }
      return answer
    },
  }
}

function isList(parsed: readonly Answer[] | Answer): parsed is readonly Answer[] {
  return Array.isArray(parsed)
}

function parse(text: string, shown: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new NodeError(`${shown} responds with text that is not JSON: ${text.slice(0, 200)}`)
  }
}

async function readText(response: Response): Promise<string> {
  // Part by part: whole answers as bytes would be memory outside of the heap, which has it searched for garbage far more often.
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > MAX_BYTES) throw new AnswerTooLong(`an answer of the node is larger than ${MAX_BYTES >> 20} MiB`)
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

/** The useful part of a failed fetch is the cause of its error. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  return (cause as NodeJS.ErrnoException).code ?? cause.message
}
