import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { consensusText } from '../../modules/query/addresses.ts'
import {
  Block,
  BlockId,
  DefaultNodeInfo,
  SdkBlock,
  SetValidator,
  toBlockIdMessage,
  toBlockMessage,
  toSdkBlock,
  wholeBlock,
} from '../../modules/query/blockMessages.ts'
import { paginate, positionWalk } from '../../modules/query/paginate.ts'
import { invalidArgument, notFound } from '../../modules/query/queryError.ts'
import { Ed25519PubKey } from '../../modules/tx/publicKey.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { bool, bytes, defineMessage, int64, message, repeated, string, uint32 } from '../../primitives/protoSchema.ts'
import { latestValidators } from '../comet/consensus.ts'
import { COMET_VERSION, nodeInfoJson } from '../comet/json/nodeInfo.ts'
import { abciQuery } from './abciQuery.ts'
import { defineNodeQuery, type NativeQuery, type QueryContext, type QueryTable } from './queryPort.ts'

const SERVICE = 'cosmos.base.tendermint.v1beta1.Service'
const BASE = '/cosmos/base/tendermint/v1beta1'
/** Explorers choose by it which form of the other queries they use. */
const COSMOS_SDK_VERSION = 'v0.50.13'
/**
 * Where a chain in Go names the modules that it is built with, those whose interfaces are answered here: Hermes chooses its decoders by the
 * second. There is no module of IBC among them, because there is no IBC. `sum`, the hash of a module's sources, is empty.
 */
const DIALECTS = [
  { path: 'github.com/cosmos/cosmos-sdk', version: COSMOS_SDK_VERSION, sum: '' },
  { path: 'github.com/cometbft/cometbft', version: `v${COMET_VERSION}`, sum: '' },
]

const Module = defineMessage('cosmos.base.tendermint.v1beta1.Module', {
  path: string(1),
  version: string(2),
  sum: string(3),
})

const VersionInfo = defineMessage('cosmos.base.tendermint.v1beta1.VersionInfo', {
  name: string(1),
  appName: string(2),
  version: string(3),
  gitCommit: string(4),
  buildTags: string(5),
  goVersion: string(6),
  buildDeps: repeated(message(7, Module)),
  cosmosSdkVersion: string(8),
})

const ProofOp = defineMessage('cosmos.base.tendermint.v1beta1.ProofOp', {
  type: string(1),
  key: bytes(2),
  data: bytes(3),
})
const ProofOps = defineMessage('cosmos.base.tendermint.v1beta1.ProofOps', { ops: repeated(message(1, ProofOp)) })

const blockResponse = { blockId: message(1, BlockId), block: message(2, Block), sdkBlock: message(3, SdkBlock) }
const validatorsResponse = {
  blockHeight: int64(1),
  validators: repeated(message(2, SetValidator)),
  pagination: message(3, PageResponse),
}

/** The SDK's tendermint service (client/grpc/cmtservice). @param queries those that its ABCIQuery can ask for */
export function tendermintQueries(queries: () => QueryTable): readonly NativeQuery[] {
  return [
    defineNodeQuery({
      service: SERVICE,
      name: 'GetNodeInfo',
      get: [`${BASE}/node_info`],
      request: {},
      response: { defaultNodeInfo: message(1, DefaultNodeInfo), applicationVersion: message(2, VersionInfo) },
      run: ({ node }) => {
        const info = nodeInfoJson(node.identity)
        return {
          defaultNodeInfo: {
            protocolVersion: {
              p2p: BigInt(info.protocol_version.p2p),
              block: BigInt(info.protocol_version.block),
              app: BigInt(info.protocol_version.app),
            },
            defaultNodeId: info.id,
            listenAddr: info.listen_addr,
            network: info.network,
            version: info.version,
            channels: new Uint8Array(Buffer.from(info.channels, 'hex')),
            moniker: info.moniker,
            other: { txIndex: info.other.tx_index, rpcAddress: info.other.rpc_address },
          },
          applicationVersion: {
            name: 'coin',
            appName: 'coind',
            version: node.identity.version,
            gitCommit: '',
            buildTags: '',
            goVersion: '',
            buildDeps: DIALECTS,
            cosmosSdkVersion: COSMOS_SDK_VERSION,
          },
        }
      },
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'GetSyncing',
      get: [`${BASE}/syncing`],
      request: {},
      response: { syncing: bool(1) },
      run: ({ rpc }) => ({ syncing: rpc.syncing() !== undefined }),
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'GetLatestBlock',
      get: [`${BASE}/blocks/latest`],
      request: {},
      response: blockResponse,
      run: ({ chain }) => blockAt(chain, BigInt(chain.headHeight)),
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'GetBlockByHeight',
      get: [`${BASE}/blocks/{height}`],
      // Old blocks are in segments.
      runs: 'heavy',
      request: { height: int64(1) },
      response: blockResponse,
      run: ({ chain }, { height }) => blockAt(chain, height),
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'GetLatestValidatorSet',
      get: [`${BASE}/validatorsets/latest`],
      request: { pagination: message(1, PageRequest) },
      response: validatorsResponse,
      run: (context, { pagination }) => validatorSet(context, BigInt(latestSet(context)), pagination),
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'GetValidatorSetByHeight',
      get: [`${BASE}/validatorsets/{height}`],
      request: { height: int64(1), pagination: message(2, PageRequest) },
      response: validatorsResponse,
      run: (context, { height, pagination }) => validatorSet(context, height, pagination),
    }),
    defineNodeQuery({
      service: SERVICE,
      name: 'ABCIQuery',
      get: [`${BASE}/abci_query`],
      // Any query runs inside this one.
      runs: 'heavy',
      request: { data: bytes(1), path: string(2), height: int64(3), prove: bool(4) },
      response: {
        code: uint32(1),
        log: string(3),
        info: string(4),
        index: int64(5),
        key: bytes(6),
        value: bytes(7),
        proofOps: message(8, ProofOps),
        height: int64(9),
        codespace: string(10),
      },
      run: async (context, { path, ...rest }) => {
        if (path === `/${SERVICE}/ABCIQuery`) throw invalidArgument('a query cannot ask for itself')
        const options = { queries: queries(), port: context.queries, version: context.node.identity.version }
        const { code, codespace, log, value, height } = await abciQuery(options, { path, ...rest }, context.rpc.scope)
        const answer = { code, codespace, log, value, height: BigInt(height) }
        return { ...answer, info: '', index: 0n, key: EMPTY_BYTES, proofOps: undefined }
      },
    }),
  ]
}

function blockAt(chain: QueryContext['chain'], height: bigint) {
  if (height <= 0n) throw invalidArgument(`height must be greater than 0, but got ${height}`)
  if (height > chain.headHeight) throw invalidArgument('requested block height is bigger then the chain length')
  const block = wholeBlock(chain, Number(height))
  return {
    blockId: toBlockIdMessage(chain.blockId(Number(height))!),
    block: toBlockMessage(block),
    sdkBlock: toSdkBlock(block),
  }
}

/** Height of the block that is being decided, as CometBFT's `validators` says. */
function latestSet({ chain, rpc }: QueryContext): number {
  return latestValidators(chain, rpc.syncing() !== undefined)
}

async function validatorSet(context: QueryContext, height: bigint, page: PageRequest | undefined) {
  if (height <= 0n) throw invalidArgument(`height must be greater than 0, but got ${height}`)
  if (height > latestSet(context)) throw invalidArgument('requested block height is bigger then the chain length')
  const set = context.chain.validatorsAt(Number(height))
  if (set === undefined) {
    throw notFound(
      `the validator set of block ${height} is not available: the oldest block is ${context.chain.oldestBlock}`,
    )
  }
  const { items, pagination } = await paginate(context, page, positionWalk([...set.validators.keys()]), (index) => {
    const { address, publicKey, power } = set.validators[index]!
    return {
      address: consensusText(address),
      pubKey: { typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key: publicKey }) },
      votingPower: power,
      proposerPriority: set.priorities[index]!,
    }
  })
  // Unlike its other lists, the SDK always says the total here.
  const total = BigInt(set.validators.length)
  return { blockHeight: height, validators: items, pagination: { ...pagination, total } }
}
