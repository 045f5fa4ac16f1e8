import { BASE_DENOM } from '../../modules/coin.ts'
import { FEEMARKET_PARAMS } from '../../modules/feemarket/params.ts'
import { nanos } from '../../modules/query/blockMessages.ts'
import { getPlan } from '../../modules/upgrade/plan.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { formatDecimal } from '../../primitives/decimal.ts'
import { bytes, optionalTimestamp, string, uint64 } from '../../primitives/protoSchema.ts'
import { defineNodeQuery, type NativeQuery } from './queryPort.ts'

const SERVICE = 'cosmos.base.node.v1beta1.Service'
const BASE = '/cosmos/base/node/v1beta1'
/** The SDK's pruning interval in blocks: old state is removed with every block. */
const PRUNING_INTERVAL = '1'

/** client/grpc/node/service.go of the SDK. A node stops at the height of an upgrade, if one is planned. */
export const NODE_QUERIES: readonly NativeQuery[] = [
  defineNodeQuery({
    service: SERVICE,
    name: 'Config',
    get: [`${BASE}/config`],
    request: {},
    response: {
      minimumGasPrice: string(1),
      pruningKeepRecent: string(2),
      pruningInterval: string(3),
      haltHeight: uint64(4),
    },
    run: ({ world, node }) => ({
      minimumGasPrice: `${formatDecimal(FEEMARKET_PARAMS.get(world.native).minGasPrice)}${BASE_DENOM}`,
      pruningKeepRecent: String(node.pruningWindow),
      pruningInterval: node.pruningWindow === 0 ? '0' : PRUNING_INTERVAL,
      haltHeight: getPlan(world.native)?.height ?? 0n,
    }),
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'Status',
    get: [`${BASE}/status`],
    request: {},
    response: {
      earliestStoreHeight: uint64(1),
      height: uint64(2),
      timestamp: optionalTimestamp(3),
      appHash: bytes(4),
      validatorHash: bytes(5),
    },
    run: ({ chain, block, rpc }) => ({
      earliestStoreHeight: BigInt(rpc.view.oldestState),
      height: BigInt(block.height),
      timestamp: nanos(block.timeMs),
      appHash: chain.hash(block.height) ?? EMPTY_BYTES,
      validatorHash: chain.consensusBlock(block.height)?.header.nextValidatorsHash ?? EMPTY_BYTES,
    }),
  }),
]
