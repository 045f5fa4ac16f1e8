import { includesFork } from '../../chain/genesis/hardfork.ts'
import { rulesAt } from '../../execution/blockContext.ts'
import { BASE_DENOM } from '../../modules/coin.ts'
import { FEEMARKET_PARAMS } from '../../modules/feemarket/params.ts'
import { readAccount, readConsensusAddress } from '../../modules/query/addresses.ts'
import { invalidArgument, notFound } from '../../modules/query/queryError.ts'
import { getOperator } from '../../modules/staking/validators.ts'
import { type Address, toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, padLeft } from '../../primitives/bytes.ts'
import { truncate } from '../../primitives/decimal.ts'
import { EMPTY_CODE_HASH, ZERO_HASH } from '../../primitives/hash.ts'
import {
  bool,
  bytes,
  defineMessage,
  embedded,
  enumeration,
  int64,
  integer,
  message,
  optionalInteger,
  repeated,
  string,
  uint64,
} from '../../primitives/protoSchema.ts'
import { openCall, runCall, toCallMessage } from '../eth/call.ts'
import { estimate, openEstimate } from '../eth/estimateGas.ts'
import { InvalidArgument } from '../jsonrpc/errors.ts'
import { type BlockSelector, byNumber } from '../params/blockSelector.ts'
import { type CallRequest, readCallRequest, readStateOverrides } from '../params/callRequest.ts'
import { TypeMismatch } from '../params/values.ts'
import { ETHEREUM_TX_RESPONSE } from './ethereumTx.ts'
import { defineNodeQuery, type NativeQuery, type QueryContext } from './queryPort.ts'

const SERVICE = 'cosmos.evm.vm.v1.Query'
const BASE = '/cosmos/evm/vm/v1'
/** Blocks whose hashes EIP-2935 keeps. */
const HISTORY_SERVE_WINDOW = 8191n

/** `args` and `overrides` are the JSON that eth_call takes. */
const CALL = { args: bytes(1), gasCap: uint64(2), proposerAddress: bytes(3), chainId: int64(4), overrides: bytes(5) }

const ACCESS_TYPES = {
  ACCESS_TYPE_PERMISSIONLESS: 0,
  ACCESS_TYPE_RESTRICTED: 1,
  ACCESS_TYPE_PERMISSIONED: 2,
} as const

const AccessControlType = defineMessage('cosmos.evm.vm.v1.AccessControlType', {
  accessType: enumeration(1, ACCESS_TYPES),
  accessControlList: repeated(string(2)),
})
const AccessControl = defineMessage('cosmos.evm.vm.v1.AccessControl', {
  create: embedded(1, AccessControlType),
  call: embedded(2, AccessControlType),
})
const ExtendedDenomOptions = defineMessage('cosmos.evm.vm.v1.ExtendedDenomOptions', { extendedDenom: string(1) })

const VmParams = defineMessage('cosmos.evm.vm.v1.Params', {
  evmDenom: string(1),
  extraEips: repeated(int64(4)),
  evmChannels: repeated(string(7)),
  accessControl: embedded(8, AccessControl),
  activeStaticPrecompiles: repeated(string(9)),
  historyServeWindow: uint64(10),
  extendedDenomOptions: message(11, ExtendedDenomOptions),
})

/** Ethermint's configuration of a chain has them too. */
export const OLD_FORK_FIELDS = {
  homesteadBlock: optionalInteger(1),
  daoForkBlock: optionalInteger(2),
  daoForkSupport: bool(3),
  eip150Block: optionalInteger(4),
  eip155Block: optionalInteger(6),
  eip158Block: optionalInteger(7),
  byzantiumBlock: optionalInteger(8),
  constantinopleBlock: optionalInteger(9),
  petersburgBlock: optionalInteger(10),
  istanbulBlock: optionalInteger(11),
  muirGlacierBlock: optionalInteger(12),
  berlinBlock: optionalInteger(13),
  londonBlock: optionalInteger(17),
  arrowGlacierBlock: optionalInteger(18),
  grayGlacierBlock: optionalInteger(20),
  mergeNetsplitBlock: optionalInteger(21),
} as const

const ChainConfig = defineMessage('cosmos.evm.vm.v1.ChainConfig', {
  ...OLD_FORK_FIELDS,
  chainId: uint64(24),
  denom: string(25),
  decimals: uint64(26),
  shanghaiTime: optionalInteger(27),
  cancunTime: optionalInteger(28),
  pragueTime: optionalInteger(29),
  verkleTime: optionalInteger(30),
  osakaTime: optionalInteger(31),
})

/** x/vm/keeper/grpc_query.go of cosmos/evm. EthCall and EstimateGas are eth_call and eth_estimateGas; its traces are debug_trace… here. */
export const VM_QUERIES: readonly NativeQuery[] = [
  defineNodeQuery({
    service: SERVICE,
    name: 'Account',
    get: [`${BASE}/account/{address}`],
    request: { address: string(1) },
    response: { balance: string(1), codeHash: string(2), nonce: uint64(3) },
    run: ({ world }, { address: text }) => {
      const address = readAccount(text)
      return {
        balance: world.getBalance(address).toString(),
        codeHash: bytesToHex(world.getCodeHash(address) ?? EMPTY_CODE_HASH),
        nonce: world.getNonce(address),
      }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'CosmosAccount',
    get: [`${BASE}/cosmos_account/{address}`],
    request: { address: string(1) },
    response: { cosmosAddress: string(1), sequence: uint64(2), accountNumber: uint64(3) },
    run: (context, { address: text }) => {
      const { accountAddress, ...rest } = numbersOf(context, readAccount(text))
      return { cosmosAddress: accountAddress, ...rest }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'ValidatorAccount',
    get: [`${BASE}/validator_account/{cons_address}`],
    request: { consAddress: string(1) },
    response: { accountAddress: string(1), sequence: uint64(2), accountNumber: uint64(3) },
    run: (context, { consAddress }) => {
      const operator = getOperator(context.world.native, readConsensusAddress(consAddress))
      if (operator === undefined) throw notFound(`validator not found for ${consAddress}`)
      return numbersOf(context, operator)
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Balance',
    get: [`${BASE}/balances/{address}`],
    request: { address: string(1) },
    response: { balance: string(1) },
    run: ({ world }, { address }) => ({ balance: world.getBalance(readAccount(address)).toString() }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Storage',
    get: [`${BASE}/storage/{address}/{key}`],
    request: { address: string(1), key: string(2) },
    response: { value: string(1) },
    run: ({ world }, { address, key }) => ({
      value: bytesToHex(padLeft(world.getStorage(readAccount(address), readSlot(key)), 32)),
    }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Code',
    get: [`${BASE}/codes/{address}`],
    request: { address: string(1) },
    response: { code: bytes(1) },
    run: ({ world }, { address }) => ({ code: world.getCode(readAccount(address)) }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: {},
    response: { params: embedded(1, VmParams) },
    run: ({ rpc }) => ({
      params: VmParams.create({
        evmDenom: BASE_DENOM,
        // Clients of cosmos/evm read it without asking whether it is there.
        extendedDenomOptions: { extendedDenom: BASE_DENOM },
        activeStaticPrecompiles: rpc.chain.registeredPrecompiles.map(toChecksumAddress),
        historyServeWindow: HISTORY_SERVE_WINDOW,
      }),
    }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'EthCall',
    get: [`${BASE}/eth_call`],
    runs: 'heavy',
    request: CALL,
    response: ETHEREUM_TX_RESPONSE,
    messageNames: ['EthCallRequest', 'MsgEthereumTxResponse'],
    run: async (context, call) => {
      const { request, selector, state } = readCall(context, call)
      const outcome = await runCall(openCall(context.rpc, selector, { state }), toCallMessage(request, context.rpc))
      if (outcome.kind === 'skipped') throw invalidArgument(outcome.reason)
      const { chain, block } = context
      return {
        hash: bytesToHex(ZERO_HASH),
        logs: [],
        ret: outcome.output,
        vmError: outcome.failure ?? '',
        gasUsed: outcome.gasUsed,
        maxUsedGas: outcome.gasUsed,
        blockHash: chain.hash(block.height) ?? ZERO_HASH,
        blockTimestamp: BigInt(chain.header(block.height)?.timestamp ?? 0),
      }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'EstimateGas',
    get: [`${BASE}/estimate_gas`],
    runs: 'heavy',
    request: CALL,
    response: { gas: uint64(1), ret: bytes(2), vmError: string(3) },
    messageNames: ['EthCallRequest', 'EstimateGasResponse'],
    run: async (context, call) => {
      const { request, selector, state } = readCall(context, call)
      const gas = await estimate(context.rpc, request, openEstimate(context.rpc, selector, { state }))
      return { gas, ret: new Uint8Array(0), vmError: '' }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'BaseFee',
    get: [`${BASE}/base_fee`],
    request: {},
    response: { baseFee: optionalInteger(1) },
    run: ({ nextBaseFee }) => ({ baseFee: nextBaseFee() }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Config',
    get: [`${BASE}/config`],
    request: {},
    response: { config: message(1, ChainConfig) },
    run: ({ rpc, block }) => {
      const rules = rulesAt(rpc.chain, block.height)
      const at = (fork: 'shanghai' | 'cancun' | 'prague' | 'osaka') => (includesFork(rules.fork, fork) ? 0n : undefined)
      return {
        config: {
          ...BEFORE_SHANGHAI,
          chainId: rpc.chain.evmChainId,
          denom: BASE_DENOM,
          decimals: 18n,
          shanghaiTime: at('shanghai'),
          cancunTime: at('cancun'),
          pragueTime: at('prague'),
          verkleTime: undefined,
          osakaTime: at('osaka'),
        },
      }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'GlobalMinGasPrice',
    get: [`${BASE}/min_gas_price`],
    request: {},
    response: { minGasPrice: integer(1) },
    run: ({ world }) => ({ minGasPrice: truncate(FEEMARKET_PARAMS.get(world.native).minGasPrice) }),
  }),
]

/** No block of this chain is older than these forks. */
export const BEFORE_SHANGHAI = {
  homesteadBlock: 0n,
  daoForkBlock: 0n,
  daoForkSupport: true,
  eip150Block: 0n,
  eip155Block: 0n,
  eip158Block: 0n,
  byzantiumBlock: 0n,
  constantinopleBlock: 0n,
  petersburgBlock: 0n,
  istanbulBlock: 0n,
  muirGlacierBlock: 0n,
  berlinBlock: 0n,
  londonBlock: 0n,
  arrowGlacierBlock: 0n,
  grayGlacierBlock: 0n,
  mergeNetsplitBlock: 0n,
}

function numbersOf({ world }: QueryContext, address: Address) {
  return { accountAddress: toBech32(address), sequence: world.getNonce(address), accountNumber: 0n }
}

/** A slot in hex, with or without 0x, shorter ones with leading zeros. */
function readSlot(text: string): Uint8Array {
  const digits = text.replace(/^0x/i, '')
  if (!/^[0-9a-f]{1,64}$/i.test(digits)) throw invalidArgument('a storage key is at most 64 hex digits')
  return new Uint8Array(Buffer.from(digits.padStart(64, '0'), 'hex'))
}

interface CallArguments {
  readonly args: Uint8Array
  readonly gasCap: bigint
  readonly overrides: Uint8Array
}

/** The arguments of eth_call in a request. @throws QueryError */
function readCall({ block }: QueryContext, { args, gasCap, overrides }: CallArguments) {
  try {
    const request = readCallRequest(parse(args))
    const state = overrides.length === 0 ? undefined : readStateOverrides(parse(overrides))
    const selector: BlockSelector = byNumber(block.height)
    return { request: limited(request, gasCap), selector, state }
  } catch (error) {
    const isWrong = error instanceof InvalidArgument || error instanceof TypeMismatch || error instanceof SyntaxError
    throw isWrong ? invalidArgument(error.message) : error
  }
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json).toString('utf8'))
}

/** Limits the gas to what the client allows; 0: as much as the node allows. */
function limited(request: CallRequest, gasCap: bigint): CallRequest {
  if (gasCap === 0n || (request.gas !== undefined && request.gas <= gasCap)) return request
  return { ...request, gas: gasCap }
}
