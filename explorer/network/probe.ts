import type { LookupAddress } from 'node:dns'
import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import { z } from 'zod'
import { connectionProblem } from '../../src/primitives/httpProblems.ts'
import { type Addresses, hostOf, onlyAllowed, RefusedRequest } from '../../src/primitives/publicAddresses.ts'

const TIMEOUT_MS = 2_000
/** Longest answer, in bytes. */
const MAX_ANSWER = 64 * 1024
/** Lower ports belong to other services, except those of HTTP. */
const FIRST_FREE_PORT = 1024

/** A block that every RPC server of this chain knows. It is not the newest, so that a server a little behind has it, too. */
export interface KnownBlock {
  readonly evmChainId: number
  readonly height: number
  /** 0x…, lower case */
  readonly hash: string
}

/** The RPC address is not one of this chain's, or may not be asked. The message is for the public. */
export class ProbeProblem extends Error {
  override readonly name = 'ProbeProblem'
}

/**
 * Looks up the server's IP address, once: only this address is connected to.
 * @throws ProbeProblem when it is not public
 */
export async function locate(url: URL, { resolve, isPublic }: Addresses): Promise<LookupAddress> {
  const port = Number(url.port)
  if (url.port !== '' && port < FIRST_FREE_PORT && port !== 80 && port !== 443) {
    throw new ProbeProblem(`port ${port} is not allowed for an RPC server`)
  }
  const host = hostOf(url)
  try {
    const found = isIP(host) === 0 ? await resolve(host) : [{ address: host, family: isIP(host) }]
    return onlyAllowed(host, found, isPublic)[0]!
  } catch (error) {
    // The message leaves out the address: clients must not learn the names of the operator's own network.
    throw new ProbeProblem(
      error instanceof RefusedRequest ? 'does not have a public IP address' : 'its host name cannot be resolved',
    )
  }
}

const answers = z.tuple([
  z.object({ id: z.literal(0), result: z.string() }),
  z.object({ id: z.literal(1), result: z.object({ hash: z.string() }) }),
])

/**
 * Asks the RPC server at `address` for its chain ID and the block, in one request. Redirects are not followed.
 * @returns milliseconds until its whole answer was there, connection included
 * @throws ProbeProblem when that is not right
 */
export async function probe(
  url: URL,
  address: LookupAddress,
  { evmChainId, height, hash }: KnownBlock,
  stop: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<number> {
  const started = performance.now()
  const calls = [
    { jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] },
    { jsonrpc: '2.0', id: 1, method: 'eth_getHeaderByNumber', params: [`0x${height.toString(16)}`] },
  ]
  const late = AbortSignal.timeout(timeoutMs)
  let text: string
  try {
    text = await post(url, address, JSON.stringify(calls), AbortSignal.any([stop, late]))
  } catch (error) {
    if (stop.aborted) throw stop.reason
    if (error instanceof ProbeProblem) throw error
    throw new ProbeProblem(late.aborted ? `no answer in ${timeoutMs / 1000} s` : connectionProblem(error).slice(0, 100))
  }
  const latencyMs = Math.round(performance.now() - started)
  const parsed = answers.safeParse(parseBatch(text))
  if (!parsed.success) throw new ProbeProblem('its answer is not from an RPC server with recent blocks')
  const [chain, header] = parsed.data
  if (chain.result !== `0x${evmChainId.toString(16)}`) throw new ProbeProblem('has another chain ID')
  if (header.result.hash !== hash) throw new ProbeProblem(`has another block at height ${height}`)
  return latencyMs
}

function post(url: URL, { address, family }: LookupAddress, body: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? tlsRequest : plainRequest)(url, {
      method: 'POST',
      // A connection of its own, which ends with the answer.
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      lookup: (_host, options, callback) =>
        options.all ? callback(null, [{ address, family }]) : callback(null, address, family),
      signal,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const refuse = (reason: string): void => {
        reject(new ProbeProblem(reason))
        request.destroy()
      }
      const { statusCode = 0 } = response
      if (statusCode >= 300 && statusCode < 400) return refuse('redirects')
      if (statusCode !== 200) return refuse(`responds with status ${statusCode}`)
      const parts: Buffer[] = []
      let length = 0
      response.on('data', (part: Buffer) => {
        length += part.length
        if (length > MAX_ANSWER) return refuse(`responds with more than ${MAX_ANSWER / 1024} KiB`)
        parts.push(part)
      })
      response.on('error', reject)
      response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')))
    })
    request.end(body)
  })
}

/** The answers of a batch may come in any order. */
function parseBatch(text: string): unknown {
  try {
    const parsed = JSON.parse(text) as unknown
    if (!Array.isArray(parsed)) return undefined
    return parsed.toSorted((a: { id?: unknown } | null, b: { id?: unknown } | null) => Number(a?.id) - Number(b?.id))
  } catch {
    return undefined
  }
}
