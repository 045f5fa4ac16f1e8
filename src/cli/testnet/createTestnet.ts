import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { dataPaths } from '../../app/dataDirectory.ts'
import { createGenesis, type FundedAccount } from '../../chain/createGenesis.ts'
import { formatGenesis, genesisHash } from '../../chain/genesis.ts'
import type { Genesis } from '../../chain/genesisSchema.ts'
import { evmChainIdOf } from '../../config/chainIds.ts'
import { ConfigError } from '../../config/configError.ts'
import { createValidatorKey } from '../../consensus/validatorKey.ts'
import { createNodeKey } from '../../p2p/nodeKey.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { writeFileDurably } from '../../storage/writeFileDurably.ts'
import { type AccountKey, accountKey, formatAccountKey } from './accountKey.ts'
import { formatVariables } from './formatVariables.ts'
import { type NodePlace, type Placement, placeNode } from './placement.ts'

const ED25519_SEED_BYTES = 32
const ACCOUNT_SEED_BYTES = 48

export interface TestnetOptions {
  /** absolute path; absent or empty */
  readonly directory: string
  readonly chainId: string
  /** 1 to 50 */
  readonly validators: number
  /** further nodes with the same genesis and no vote; 0 by default */
  readonly fullNodes?: number
  readonly placement: Placement
  /** receives the initial supply and is the first validator's operator; undefined: a key is made for it */
  readonly wallet: Address | undefined
  /** of each validator */
  readonly selfDelegationAcoin: bigint
  /** milliseconds since the epoch */
  readonly genesisTimeMs: number
  readonly fundedAccounts?: readonly FundedAccount[]
  readonly blockGasLimit?: bigint
  /** further changes of the genesis, in place: other parameters of the native modules */
  readonly changeGenesis?: (genesis: Genesis) => void
  readonly randomBytes: (length: number) => Uint8Array
}

export interface TestnetNode {
  readonly name: string
  /** data directory */
  readonly home: string
  readonly isValidator: boolean
  readonly nodeId: string
  /** where the others reach it */
  readonly rpcUrl: string
  /** host:port */
  readonly peerAddress: string
  /** what is in its `.env` */
  readonly variables: Readonly<Record<string, string>>
}

export interface Testnet {
  readonly nodes: readonly TestnetNode[]
  /** 64 hex digits */
  readonly genesisHash: string
  /** key of the wallet that was made; undefined when one was given */
  readonly walletFile: string | undefined
  /** variables of a node that joins later */
  readonly joinFile: string
}

/**
 * Writes the data directories of a new network, `node0` and on: keys, one genesis, and a `.env` for each that names its ports and
 * its peers. All keys are new. Every validator but the first has an operator account of its own, whose key is beside the others.
 * @throws ConfigError with one line for the operator
 */
export function createTestnet(options: TestnetOptions): Testnet {
  const { directory, chainId, validators, fullNodes = 0, randomBytes } = options
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new ConfigError(`${directory} is not empty: name another directory`)
  }
  const walletKey = options.wallet === undefined ? accountKey(randomBytes(ACCOUNT_SEED_BYTES)) : undefined
  const wallet = walletKey?.address ?? options.wallet!
  const homes = Array.from({ length: validators + fullNodes }, (_, index) =>
    makeHome(options, index, index > 0 && index < validators),
  )
  const genesis = genesisOf(options, wallet, homes.slice(0, validators))
  options.changeGenesis?.(genesis)
  const hash = bytesToHex(genesisHash(genesis)).slice(2)
  const common = {
    NETWORK: 'devnet',
    CHAIN_ID: chainId,
    EVM_CHAIN_ID: String(evmChainIdOf(chainId)),
    GENESIS_HASH: hash,
  }

  const nodes = homes.map((home, index): TestnetNode => {
    const { name, rpcUrl, peerAddress } = home.place
    const peers = homes.filter((other) => other !== home)
    const variables = {
      ...common,
      MONIKER: name,
      ...home.place.variables,
      ...(home.place.isLocal ? { HOMEDIR: home.path } : {}),
      EXTERNAL_P2P_ADDRESS: peerAddress,
      PERSISTENT_PEERS: peers.map(({ nodeId, place }) => `${nodeId}@${place.peerAddress}`).join(','),
    }
    writeFileDurably(dataPaths(home.path).genesis, formatGenesis(genesis), 0o644)
    writeFileDurably(join(home.path, '.env'), formatVariables(variables), 0o644)
    return {
      name,
      home: home.path,
      isValidator: index < validators,
      nodeId: home.nodeId,
      rpcUrl,
      peerAddress,
      variables,
    }
  })

  const [seed] = nodes
  const joinFile = join(directory, 'join.env')
  const joining = {
    ...common,
    JOIN_NETWORK: 'true',
    SEED_NODE_URL: seed!.rpcUrl,
    SEED_NODE_ID: seed!.nodeId,
    SEED_PEER_HOST: seed!.peerAddress,
  }
  writeFileDurably(joinFile, formatVariables(joining), 0o644)
  const walletFile = walletKey && join(directory, 'wallet.json')
  if (walletFile !== undefined) writeFileDurably(walletFile, formatAccountKey(walletKey!), 0o600)
  return { nodes, genesisHash: hash, walletFile, joinFile }
}

/** The data directory of one node, before the genesis is known. */
interface Home {
  readonly path: string
  readonly place: NodePlace
  readonly nodeId: string
  readonly consensusPublicKey: Uint8Array
  readonly operator: AccountKey | undefined
}

function makeHome(
  { directory, placement, randomBytes }: Pick<TestnetOptions, 'directory' | 'placement' | 'randomBytes'>,
  index: number,
  hasOperator: boolean,
): Home {
  const place = placeNode(placement, index)
  const path = join(directory, place.name)
  const paths = dataPaths(path)
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  const { publicKey: consensusPublicKey } = createValidatorKey(paths.validatorKey, randomBytes(ED25519_SEED_BYTES))
  const { id: nodeId } = createNodeKey(paths.nodeKey, randomBytes(ED25519_SEED_BYTES))
  const operator = hasOperator ? accountKey(randomBytes(ACCOUNT_SEED_BYTES)) : undefined
  if (operator !== undefined) {
    writeFileDurably(join(paths.config, 'operator_key.json'), formatAccountKey(operator), 0o600)
  }
  return { path, place, nodeId, consensusPublicKey, operator }
}

function genesisOf(options: TestnetOptions, wallet: Address, homes: readonly Home[]): Genesis {
  const { genesisTimeMs, chainId, selfDelegationAcoin, fundedAccounts, blockGasLimit } = options
  const [first, ...others] = homes.map(({ place, consensusPublicKey, operator }) => ({
    operator: operator?.address ?? wallet,
    consensusPublicKey,
    moniker: place.name,
    selfDelegationAcoin,
  }))
  const genesis = createGenesis({
    ...first!,
    genesisTimeMs,
    chainId,
    wallet,
    otherValidators: others,
    ...(fundedAccounts === undefined ? {} : { fundedAccounts }),
    ...(blockGasLimit === undefined ? {} : { blockGasLimit }),
  })
  // Its defaults are shared by all that are made.
  return structuredClone(genesis)
}
