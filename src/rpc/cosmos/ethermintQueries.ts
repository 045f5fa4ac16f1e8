import { includesFork } from '../../chain/genesis/hardfork.ts'
import { rulesAt } from '../../execution/blockContext.ts'
import { BASE_DENOM } from '../../modules/coin.ts'
import { FEEMARKET_PARAMS } from '../../modules/feemarket/params.ts'
import { FEEMARKET_QUERIES } from '../../modules/feemarket/queries.ts'
import { truncate } from '../../primitives/decimal.ts'
import {
  bool,
  decimal,
  defineMessage,
  embedded,
  type Field,
  int64,
  integer,
  type MessageType,
  optionalInteger,
  repeated,
  string,
  uint32,
} from '../../primitives/protoSchema.ts'
import { defineNodeQuery, type NativeQuery } from './queryPort.ts'
import { BEFORE_SHANGHAI, OLD_FORK_FIELDS, VM_QUERIES } from './vmQueries.ts'

const EVM = 'ethermint.evm.v1'
const FEEMARKET = 'ethermint.feemarket.v1'
const FEEMARKET_BASE = '/feemarket/evm/v1'

/** Queries whose messages have the same fields there. */
const SAME_IN_EVM: readonly string[] = [
  'Account',
  'CosmosAccount',
  'ValidatorAccount',
  'Balance',
  'Storage',
  'Code',
  'EthCall',
  'EstimateGas',
  'BaseFee',
]
/** The last field of Ethermint's MsgEthereumTxResponse; Ethermint's forks have other fields after this one than cosmos/evm has. */
const LAST_RESULT_FIELD = 5

const ChainConfig = defineMessage(`${EVM}.ChainConfig`, {
  ...OLD_FORK_FIELDS,
  eip150Hash: string(5),
  shanghaiBlock: optionalInteger(22),
  cancunBlock: optionalInteger(23),
})

const EvmParams = defineMessage(`${EVM}.Params`, {
  evmDenom: string(1),
  enableCreate: bool(2),
  enableCall: bool(3),
  extraEips: repeated(int64(4)),
  chainConfig: embedded(5, ChainConfig),
  allowUnprotectedTxs: bool(6),
})

const FeeMarketParams = defineMessage(`${FEEMARKET}.Params`, {
  noBaseFee: bool(1),
  baseFeeChangeDenominator: uint32(2),
  elasticityMultiplier: uint32(3),
  enableHeight: int64(5),
  baseFee: integer(6),
  minGasPrice: decimal(7),
  minGasMultiplier: decimal(8),
})

/**
 * Queries of the EVM by the names that they had in Ethermint, before cosmos/evm (proto/ethermint/evm/v1/query.proto): tools of its time ask
 * by them. They are the same queries, with the same limits.
 */
export const ETHERMINT_QUERIES: readonly NativeQuery[] = [
  ...VM_QUERIES.filter(({ path }) => SAME_IN_EVM.includes(nameOf(path))).map((query) =>
    renamed(query, `/${EVM}.Query/${nameOf(query.path)}`, ['/cosmos/evm/vm/v1', '/ethermint/evm/v1']),
  ),
  ...FEEMARKET_QUERIES.filter(({ path }) => nameOf(path) === 'BlockGas').map((query) =>
    renamed(query, `/${FEEMARKET}.Query/BlockGas`, ['/cosmos/evm/feemarket/v1', FEEMARKET_BASE]),
  ),
  defineNodeQuery({
    service: `${EVM}.Query`,
    name: 'Params',
    get: ['/ethermint/evm/v1/params'],
    request: {},
    response: { params: embedded(1, EvmParams) },
    run: ({ rpc, block }) => {
      const { fork } = rulesAt(rpc.chain, block.height)
      const at = (name: 'shanghai' | 'cancun') => (includesFork(fork, name) ? 0n : undefined)
      return {
        params: EvmParams.create({
          evmDenom: BASE_DENOM,
          enableCreate: true,
          enableCall: true,
          chainConfig: ChainConfig.create({
            ...BEFORE_SHANGHAI,
            shanghaiBlock: at('shanghai'),
            cancunBlock: at('cancun'),
          }),
          allowUnprotectedTxs: rpc.chain.allowsUnprotected,
        }),
      }
    },
  }),
  defineNodeQuery({
    service: `${FEEMARKET}.Query`,
    name: 'Params',
    get: [`${FEEMARKET_BASE}/params`],
    request: {},
    response: { params: embedded(1, FeeMarketParams) },
    run: ({ world }) => {
      const params = FEEMARKET_PARAMS.get(world.native)
      return { params: { ...params, baseFee: truncate(params.baseFee) } }
    },
  }),
  // An integer there, a decimal in cosmos/evm.
  defineNodeQuery({
    service: `${FEEMARKET}.Query`,
    name: 'BaseFee',
    get: [`${FEEMARKET_BASE}/base_fee`],
    request: {},
    response: { baseFee: integer(1) },
    run: ({ nextBaseFee }) => ({ baseFee: nextBaseFee() }),
  }),
]

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** @param bases of REST paths, the one of the query and the new one */
function renamed(query: NativeQuery, path: string, [from, to]: readonly [string, string]): NativeQuery {
  const packageName = path.slice(1, path.indexOf('.Query/'))
  const rest = query.rest.map(({ method, template }) => ({ method, template: template.replace(from, to) }))
  const request = inPackage(query.request, packageName)
  return { ...query, path, rest, request, response: inPackage(query.response, packageName) }
}

function inPackage({ name, fields }: MessageType<unknown>, packageName: string): MessageType<unknown> {
  const shortName = name.slice(name.lastIndexOf('.') + 1)
  const last = shortName === 'MsgEthereumTxResponse' ? LAST_RESULT_FIELD : Number.POSITIVE_INFINITY
  const same = fields.filter(({ number }) => number <= last).map((field) => [field.name, field as Field<unknown>])
  return defineMessage(`${packageName}.${shortName}`, Object.fromEntries(same)) as MessageType<unknown>
}
