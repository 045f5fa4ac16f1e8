import {
  type Abi,
  type AbiParameter,
  decodeErrorResult,
  decodeEventLog,
  decodeFunctionData,
  type Hex,
  parseAbi,
  size,
} from 'viem'
import precompiles from './precompiles.json' with { type: 'json' }

/** A call, log or error by its names. */
export interface Decoded {
  readonly name: string
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  /** Solidity's */
  readonly type: string
  readonly value: unknown
}

const ERRORS = parseAbi(['error Error(string message)', 'error Panic(uint256 code)'])
const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function balanceOf(address account) view',
  'function allowance(address owner, address spender) view',
  'function totalSupply() view',
  'function name() view',
  'function symbol() view',
  'function decimals() view',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
])
const ERC721 = parseAbi([
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
  'function setApprovalForAll(address operator, bool approved)',
  'function ownerOf(uint256 tokenId) view',
  'function tokenURI(uint256 tokenId) view',
  'function onERC721Received(address operator, address from, uint256 tokenId, bytes data)',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId)',
  'event ApprovalForAll(address indexed owner, address indexed operator, bool approved)',
])
const ERC1155 = parseAbi([
  'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)',
  'function balanceOf(address account, uint256 id) view',
  'function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes data)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
  'event URI(string value, uint256 indexed id)',
])
const WETH9 = parseAbi([
  'function deposit() payable',
  'function withdraw(uint256 wad)',
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
])
/** In the order in which they are tried: ERC-20 and ERC-721 share selectors and topics, but not what is indexed. */
const STANDARDS: readonly Abi[] = [ERC20, ERC721, ERC1155, WETH9]

/**
 * The ABIs by which a contract is read: its own, or its precompile's, before those that many have.
 * @param own of the verified contract; undefined: it is not verified
 */
function abisOf(address: string | null, own: Abi | undefined): readonly Abi[] {
  const precompile = (precompiles as Readonly<Record<string, unknown>>)[address?.toLowerCase() ?? ''] as Abi | undefined
  return [own, precompile].filter((abi) => abi !== undefined).concat(STANDARDS)
}

/** Decodes a call's input; undefined when no ABI fits. Not for a creation, whose input is code. */
export function decodeInput(input: string, to: string | null, own?: Abi): Decoded | undefined {
  if (input.length < 10) return undefined
  return first(abisOf(to, own), (abi) => {
    const { functionName, args } = decodeFunctionData({ abi, data: input as Hex })
    const item = abi.find(
      (entry) =>
        entry.type === 'function' && entry.name === functionName && entry.inputs.length === (args?.length ?? 0),
    )
    return named(functionName, inputsOf(item), args ?? [])
  })
}

/** Decodes a log; undefined when no ABI fits. */
export function decodeLog(
  { address, topics, data }: { readonly address: string; readonly topics: readonly string[]; readonly data: string },
  own?: Abi,
): Decoded | undefined {
  if (topics.length === 0) return undefined
  return first(abisOf(address, own), (abi) => {
    const { eventName, args } = decodeEventLog({ abi, topics: topics as [Hex], data: data as Hex, strict: true })
    if (eventName === undefined) return undefined
    const indexed = topics.length - 1
    const item = abi.find(
      (entry) =>
        entry.type === 'event' &&
        entry.name === eventName &&
        entry.inputs.filter((input) => input.indexed === true).length === indexed,
    )
    const inputs = inputsOf(item)
    const values = args as unknown as Readonly<Record<string, unknown>> | readonly unknown[] | undefined
    const list = Array.isArray(values)
      ? (values as readonly unknown[])
      : inputs.map(({ name }) => (values as Readonly<Record<string, unknown>> | undefined)?.[name ?? ''])
    return named(eventName, inputs, list)
  })
}

/** Why a call failed, by what it returned; undefined when that says nothing. */
export function decodeError(output: string, of: string | null, own?: Abi): Decoded | undefined {
  if (size(output as Hex) < 4) return undefined
  return first([ERRORS, ...abisOf(of, own)], (abi) => {
    const { errorName, args } = decodeErrorResult({ abi, data: output as Hex })
    const item = abi.find((entry) => entry.type === 'error' && entry.name === errorName)
    return named(errorName, inputsOf(item), args ?? [])
  })
}

function inputsOf(item: Abi[number] | undefined): readonly AbiParameter[] {
  return item !== undefined && 'inputs' in item ? item.inputs : []
}

function named(name: string, inputs: readonly AbiParameter[], values: readonly unknown[]): Decoded {
  return {
    name,
    fields: values.map((value, index) => ({
      name: inputs[index]?.name || String(index),
      type: inputs[index]?.type ?? '',
      value,
    })),
  }
}

/** The first that fits: data that does not is an error of the decoder, whatever it is. */
function first(abis: readonly Abi[], decode: (abi: Abi) => Decoded | undefined): Decoded | undefined {
  for (const abi of abis) {
    try {
      const decoded = decode(abi)
      if (decoded !== undefined) return decoded
    } catch {
      // another one may
    }
  }
  return undefined
}
