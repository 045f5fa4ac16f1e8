import { type Command, Option } from 'commander'
import { ConfigError } from '../config/configError.ts'
import type { Json } from '../primitives/protoScalars.ts'
import type { Terminal } from './ports.ts'

/** The node that `tx` and `query` talk to did not answer, or refused. The message is a line for the operator. */
export class NodeRequestError extends Error {
  /** they end a command with different exit codes */
  override readonly name: 'NodeUnreachable' | 'NodeRefused'
  /** of HTTP; undefined when there was no answer */
  readonly status: number | undefined

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options)
    this.name = status === undefined ? 'NodeUnreachable' : 'NodeRefused'
    this.status = status
  }
}

/** A node's public port, as seen from the command line. */
export interface NodeClient {
  readonly url: string
  /** GET of a path of the REST API. @param height whose state is asked for; by default the newest */
  get(path: string, height?: number): Promise<Json>
  /** POST of a path of the REST API. */
  post(path: string, body: Json): Promise<Json>
  /** A method of CometBFT's RPC; returns its `result`. */
  comet(method: string, params: Readonly<Record<string, Json>>): Promise<Json>
}

const NODE_VARIABLE = 'COIND_NODE'
const DEFAULT_NODE = 'http://localhost:8080'
const TIMEOUT_MS = 20_000

export interface NodeOptions {
  readonly node?: string
}

export function addNodeOption(command: Command): Command {
  return command.addOption(new Option('--node <url>', `node to query (default: ${NODE_VARIABLE}, or ${DEFAULT_NODE})`))
}

export function connectNode({ node }: NodeOptions, terminal: Pick<Terminal, 'environment'>): NodeClient {
  return createNodeClient(node ?? (terminal.environment[NODE_VARIABLE] || DEFAULT_NODE))
}

/** @throws ConfigError when `given` is not an http address */
export function createNodeClient(given: string): NodeClient {
  // The Cosmos SDK's programs write addresses of nodes as tcp://host:port.
  const url = given.replace(/^tcp:\/\//, 'http://')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new ConfigError(`${url} is not a node's address: expected one such as ${DEFAULT_NODE}`)
  }
  const base = url.replace(/\/+$/, '')

  const request = async (path: string, init: RequestInit): Promise<Json> => {
    let response: Response
    let text: string
    try {
      response = await fetch(`${base}${path}`, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
      text = await response.text()
    } catch (cause) {
      throw new NodeRequestError(`no answer from ${base}: start the node, or name another one with --node`, undefined, {
        cause,
      })
    }
    const json = parse(text)
    if (response.ok && json !== undefined) return json
    const hint = response.ok || response.status === 404 ? `: check that ${base} is the RPC port of a node` : ''
    throw new NodeRequestError(reasonIn(json) ?? `${base}${path} answered ${response.status}${hint}`, response.status)
  }
  const send = (path: string, body: Json): Promise<Json> =>
    request(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

  return {
    url: base,
    get: (path, height) =>
      request(path, height === undefined ? {} : { headers: { 'x-cosmos-block-height': height.toString() } }),
    post: send,
    comet: async (method, params) => {
      const answer = await send('/rpc', { jsonrpc: '2.0', id: 1, method, params })
      const { result, error } = answer as { readonly result?: Json; readonly error?: Json }
      if (result === undefined) throw new NodeRequestError(reasonIn(error) ?? `${base} rejected ${method}`, 200)
      return result
    },
  }
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Returns the text in an error object of grpc-gateway or CometBFT. */
function reasonIn(json: Json | undefined): string | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { message, data } = json as { readonly message?: Json; readonly data?: Json }
  if (typeof message !== 'string') return undefined
  return typeof data === 'string' && data !== '' ? `${message}: ${data}` : message
}
