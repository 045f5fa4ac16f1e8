import { connectionProblem, isHopeless, shownUrl } from '../../primitives/httpProblems.ts'

/** How long and how large one answer may be. */
export interface HttpLimits {
  readonly maxBytes: number
  /** time for one complete answer */
  readonly timeoutMs: number
}

export interface HttpAnswer {
  readonly status: number
  /** empty for other statuses than 200 and 500, with which nodes answer calls */
  readonly text: string
  /** where a redirect leads, without the query */
  readonly redirect: string | undefined
}

/** There is no answer. The message is one line for the operator, without the URL's query. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  /** `later`: another attempt may succeed; `never`: the server cannot be used; `tooLong`: the answer exceeds the limit */
  readonly kind: 'later' | 'never' | 'tooLong'

  constructor(kind: HttpError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * Returns the URL of a node's CometBFT method. An address that already ends in /rpc is used as that
 * of the CometBFT methods.
 */
export function cometEndpoint(url: string, method: string): URL {
  const endpoint = new URL(url)
  const path = endpoint.pathname.replace(/\/+$/, '')
  endpoint.pathname = path.endsWith('/rpc') ? `${path}/${method}` : `${path}/rpc/${method}`
  endpoint.hash = ''
  return endpoint
}

/**
 * Returns the answer of a node that is not trusted. Redirects are not followed: they could lead to
 * a node of another network.
 * @throws HttpError; the reason of `stop` when that is aborted
 */
export async function httpGet(
  endpoint: URL,
  { maxBytes, timeoutMs }: HttpLimits,
  stop: AbortSignal,
): Promise<HttpAnswer> {
  const shown = shownUrl(endpoint)
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(endpoint, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.any([stop, timeout]),
    })
    const { status } = response
    if (status === 200 || status === 500) {
      return { status, text: await readText(response, maxBytes, shown), redirect: undefined }
    }
    await response.body?.cancel()
    const target = response.headers.get('location')
    const isRedirect = target !== null && URL.canParse(target, endpoint.href)
    return { status, text: '', redirect: isRedirect ? shownUrl(new URL(target, endpoint)) : undefined }
  } catch (error) {
    if (error instanceof HttpError) throw error
    if (stop.aborted) throw stop.reason
    if (timeout.aborted) throw new HttpError('later', `${shown} does not answer in ${timeoutMs / 1000} seconds`)
    const reason = connectionProblem(error)
    if (isHopeless(reason)) throw new HttpError('never', `${shown} cannot be used (${reason})`)
    throw new HttpError('later', `${shown} cannot be reached (${reason})`)
  }
}

async function readText(response: Response, maxBytes: number, shown: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new HttpError('tooLong', `${shown} answers with more than ${maxBytes >> 20} MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
