import { bytesToHex, toQuantity } from '../../src/primitives/bytes.ts'
import { NodeRefusal } from '../node/nodeClient.ts'
import type { EtherscanContext } from './action.ts'
import { type Parameters, RequestError } from './parameters.ts'

/*
 * The module `proxy`: a fixed set of questions, each decoded and encoded again, in the forms of JSON-RPC. It is not a relay: only what is
 * decoded here reaches the node.
 */

/** Bytes of a signed transaction and of a call's data: as much as a transaction may have. */
const MAX_DATA = 128 * 1024
/** Gas of a call or an estimate: what a client leaves out or asks above it is this. */
const MAX_GAS = 10_000_000n
const MAX_INDEX = 2 ** 20
const MAX_HEIGHT = 2 ** 33
const TAGS: ReadonlySet<string> = new Set(['latest', 'pending', 'earliest', 'safe', 'finalized'])
const INVALID_PARAMETERS = -32_602

interface ProxyAction {
  readonly method: string
  readonly paramsOf: (parameters: Parameters) => readonly unknown[]
}

/** An answer of JSON-RPC. */
export type ProxyAnswer =
  | { readonly jsonrpc: '2.0'; readonly id: number; readonly result: unknown }
  | {
      readonly jsonrpc: '2.0'
      readonly id: number
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
    }

const ACTIONS: readonly ProxyAction[] = [
  { method: 'eth_blockNumber', paramsOf: () => [] },
  { method: 'eth_gasPrice', paramsOf: () => [] },
  {
    method: 'eth_getBlockByNumber',
    paramsOf: (parameters) => [tagOf(parameters), flagOf(parameters, 'boolean')],
  },
  { method: 'eth_getBlockTransactionCountByNumber', paramsOf: (parameters) => [tagOf(parameters)] },
  {
    method: 'eth_getUncleByBlockNumberAndIndex',
    paramsOf: (parameters) => [tagOf(parameters), indexOf(parameters)],
  },
  {
    method: 'eth_getTransactionByBlockNumberAndIndex',
    paramsOf: (parameters) => [tagOf(parameters), indexOf(parameters)],
  },
  { method: 'eth_getTransactionByHash', paramsOf: (parameters) => [bytesToHex(parameters.hash('txhash'))] },
  { method: 'eth_getTransactionReceipt', paramsOf: (parameters) => [bytesToHex(parameters.hash('txhash'))] },
  {
    method: 'eth_getTransactionCount',
    paramsOf: (parameters) => [addressOf(parameters, 'address'), tagOf(parameters)],
  },
  { method: 'eth_getCode', paramsOf: (parameters) => [addressOf(parameters, 'address'), tagOf(parameters)] },
  {
    method: 'eth_getStorageAt',
    paramsOf: (parameters) => [addressOf(parameters, 'address'), slotOf(parameters), tagOf(parameters)],
  },
  { method: 'eth_sendRawTransaction', paramsOf: (parameters) => [transactionOf(parameters)] },
  { method: 'eth_call', paramsOf: (parameters) => [callOf(parameters), tagOf(parameters)] },
  { method: 'eth_estimateGas', paramsOf: (parameters) => [callOf(parameters)] },
]

const BY_NAME: ReadonlyMap<string, ProxyAction> = new Map(
  ACTIONS.map((action): [string, ProxyAction] => [action.method.toLowerCase(), action]),
)

/** Whether there is an action of this name in lower case. */
export function isProxyAction(name: string): boolean {
  return BY_NAME.has(name)
}

/**
 * Asks the node for what an action of the module says.
 * @throws RequestError when the parameters do not fit, NodeError when the node cannot be reached
 */
export async function askProxy(
  name: string,
  parameters: Parameters,
  { node, takeTurn }: Pick<EtherscanContext, 'node' | 'takeTurn'>,
): Promise<ProxyAnswer> {
  const { method, paramsOf } = BY_NAME.get(name)!
  const params = paramsOf(parameters)
  try {
    const [result] = await takeTurn(() => node.ethereum([{ method, params }]))
    return { jsonrpc: '2.0', id: 1, result }
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
    const { code, reason, data } = error
    return proxyError(code, reason, data)
  }
}

/** The error of a request that cannot be answered, as this module writes it. */
export function proxyRefusal(message: string): ProxyAnswer {
  return proxyError(INVALID_PARAMETERS, message)
}

function proxyError(code: number, message: string, data?: unknown): ProxyAnswer {
  return { jsonrpc: '2.0', id: 1, error: { code, message, ...(data === undefined ? {} : { data }) } }
}

function addressOf(parameters: Parameters, name: string): string {
  return bytesToHex(parameters.address(name))
}

/** A block: by default the newest one. */
function tagOf(parameters: Parameters): string {
  const tag = parameters.text('tag')?.toLowerCase() ?? 'latest'
  // ethers writes heights as 0x… and Etherscan's own clients with or without that.
  return TAGS.has(tag) ? tag : toQuantity(parameters.number('tag', MAX_HEIGHT)!)
}

function indexOf(parameters: Parameters): string {
  const index = parameters.number('index', MAX_INDEX)
  if (index === undefined) throw new RequestError('Error! Missing index')
  return toQuantity(index)
}

function slotOf(parameters: Parameters): string {
  const slot = parameters.amount('position')
  if (slot === undefined) throw new RequestError('Error! Missing position')
  return `0x${slot.toString(16)}`
}

function flagOf(parameters: Parameters, name: string): boolean {
  const text = parameters.text(name)?.toLowerCase() ?? 'false'
  if (text !== 'true' && text !== 'false') throw new RequestError(`Error! Invalid ${name}, expected true or false`)
  return text === 'true'
}

function transactionOf(parameters: Parameters): string {
  const transaction = parameters.data('hex', MAX_DATA)
  if (transaction === undefined || transaction === '0x') throw new RequestError('Error! Missing hex')
  return transaction
}

/** A call: the fields that change its result. An access list changes only its gas, and is left out. */
function callOf(parameters: Parameters): Readonly<Record<string, string>> {
  const [from, to] = [parameters.optionalAddress('from'), parameters.optionalAddress('to')]
  const data = parameters.data('data', MAX_DATA)
  const asked = parameters.amount('gas') ?? parameters.amount('gasLimit') ?? MAX_GAS
  const call: Record<string, string> = { gas: `0x${(asked < MAX_GAS ? asked : MAX_GAS).toString(16)}` }
  if (from !== undefined) call.from = bytesToHex(from)
  if (to !== undefined) call.to = bytesToHex(to)
  if (data !== undefined) call.data = data
  for (const name of ['value', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'nonce'] as const) {
    const amount = parameters.amount(name)
    if (amount !== undefined) call[name] = `0x${amount.toString(16)}`
  }
  return call
}
