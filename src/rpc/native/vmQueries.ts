import { rulesAt } from '../../app/blockContext.ts'
import { isAtLeast } from '../../evm/rules.ts'
import { BASE_DENOM } from '../../modules/bank/supply.ts'
import { FEEMARKET_PARAMS } from '../../modules/feemarket/params.ts'
import { getOperator } from '../../modules/staking/operators.ts'
import { type Address, toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, padLeft } from '../../primitives/bytes.ts'
import { truncate } from '../../primitives/decimal.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import { bytes, embedded, integer, message, optionalInteger, string, uint64 } from '../../primitives/protoSchema.ts'
import { readAccount, readConsensusAddress } from './addresses.ts'
import { ChainConfig, VmParams } from './messages/vmMessages.ts'
import { baseFeeAfter } from './nextBaseFee.ts'
import { defineQuery, type NativeQuery, type QueryContext } from './query.ts'
import { invalidArgument, notFound } from './queryError.ts'
import { VM_CALL_QUERIES } from './vmCallQueries.ts'

const SERVICE = 'cosmos.evm.vm.v1.Query'
const BASE = '/cosmos/evm/vm/v1'
/** Blocks whose hashes EIP-2935 keeps. */
const HISTORY_SERVE_WINDOW = 8191n

/** x/vm/keeper/grpc_query.go of cosmos/evm. Its traces are debug_trace… here. */
export const VM_QUERIES: readonly NativeQuery[] = [
  defineQuery({
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
  defineQuery({
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
  defineQuery({
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
  defineQuery({
    service: SERVICE,
    name: 'Balance',
    get: [`${BASE}/balances/{address}`],
    request: { address: string(1) },
    response: { balance: string(1) },
    run: ({ world }, { address }) => ({ balance: world.getBalance(readAccount(address)).toString() }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Storage',
    get: [`${BASE}/storage/{address}/{key}`],
    request: { address: string(1), key: string(2) },
    response: { value: string(1) },
    run: ({ world }, { address, key }) => ({
      value: bytesToHex(padLeft(world.getStorage(readAccount(address), readSlot(key)), 32)),
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Code',
    get: [`${BASE}/codes/{address}`],
    request: { address: string(1) },
    response: { code: bytes(1) },
    run: ({ world }, { address }) => ({ code: world.getCode(readAccount(address)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: {},
    response: { params: embedded(1, VmParams) },
    run: ({ rpc }) => ({
      params: VmParams.create({
        evmDenom: BASE_DENOM,
        activeStaticPrecompiles: rpc.chain.registeredPrecompiles.map(toChecksumAddress),
        historyServeWindow: HISTORY_SERVE_WINDOW,
      }),
    }),
  }),
  ...VM_CALL_QUERIES,
  defineQuery({
    service: SERVICE,
    name: 'BaseFee',
    get: [`${BASE}/base_fee`],
    request: {},
    response: { baseFee: optionalInteger(1) },
    run: (context) => ({ baseFee: baseFeeAfter(context) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Config',
    get: [`${BASE}/config`],
    request: {},
    response: { config: message(1, ChainConfig) },
    run: ({ rpc, block }) => {
      const rules = rulesAt(rpc.chain, block.height)
      const at = (fork: 'shanghai' | 'cancun' | 'prague' | 'osaka') => (isAtLeast(rules, fork) ? 0n : undefined)
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
  defineQuery({
    service: SERVICE,
    name: 'GlobalMinGasPrice',
    get: [`${BASE}/min_gas_price`],
    request: {},
    response: { minGasPrice: integer(1) },
    run: ({ world }) => ({ minGasPrice: truncate(FEEMARKET_PARAMS.get(world.native).minGasPrice) }),
  }),
]

/** No block of this chain is older than these forks. */
const BEFORE_SHANGHAI = {
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
