import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { createGenesis, type FundedAccount } from '../chain/genesis/createGenesis.ts'
import { formatGenesis, genesisHash } from '../chain/genesis/genesis.ts'
import type { Genesis } from '../chain/genesis/genesisSchema.ts'
import { evmChainIdOf } from '../config/chainIds.ts'
import { ConfigError } from '../config/configError.ts'
import { createValidatorKey } from '../consensus/validatorKey.ts'
import { dataPaths } from '../datadir/dataDirectory.ts'
import { readGenesisFile } from '../datadir/initNode.ts'
import { createNodeKey } from '../p2p/nodeKey.ts'
import { type Address, toBech32, toChecksumAddress } from '../primitives/address.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { ED25519_KEY_LENGTH } from '../primitives/ed25519.ts'
import { publicKeyToAddress } from '../primitives/secp256k1.ts'
import { writeFileDurably } from '../storage/writeFileDurably.ts'

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
  /** where the other nodes reach it */
  readonly rpcUrl: string
  /** host:port */
  readonly peerAddress: string
  /** those in its `.env` */
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

/** Balance of each created operator on top of its stake, for fees: 100 COIN. */
const OPERATOR_BALANCE_ACOIN = 100n * 10n ** 18n

/**
 * Writes the data directories of a new network, `node0` and on: keys, one genesis, and a `.env` for each that names its ports and
 * its peers. All keys are new. Every validator except the first has its own operator account with some coins; the account's key is in
 * the same directory as the node's other keys.
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

/** Changes that an edit of a test network's genesis made. */
export interface EditedTestnet {
  /** 64 hex digits */
  readonly genesisHash: string
  /** files with the genesis or its hash */
  readonly files: readonly string[]
}

/**
 * Copies an edited genesis to all nodes of a test network that exists already, and writes its hash to their `.env` and to
 * `join.env`.
 * @param directory that of the network
 * @param genesisFile the edited one; by default that of the first node
 * @throws ConfigError when there is no network, one of its nodes has already started its chain, or the genesis is not valid
 */
export function editTestnet(directory: string, genesisFile?: string): EditedTestnet {
  const variables = existsSync(directory)
    ? [
        directory,
        ...readdirSync(directory)
          .sort()
          .map((name) => join(directory, name)),
      ]
        .flatMap((path) => [join(path, '.env'), join(path, 'join.env')])
        .filter((path) => existsSync(path))
    : []
  const homes = variables.filter((path) => basename(path) === '.env').map((path) => dirname(path))
  if (homes.length === 0)
    throw new ConfigError(`${directory} does not hold a test network: create one with coind testnet`)
  const begun = homes.find((home) => existsSync(dataPaths(home).db))
  if (begun !== undefined) throw new ConfigError(`${begun} has already started its chain: remove it with coind reset`)
  const geneses = homes.map((home) => dataPaths(home).genesis)
  const genesis = readGenesisFile(genesisFile ?? geneses[0]!)
  const hash = bytesToHex(genesisHash(genesis)).slice(2)
  for (const path of geneses) writeFileDurably(path, formatGenesis(genesis), 0o644)
  for (const path of variables) {
    const text = readFileSync(path, 'utf8').replace(/^GENESIS_HASH=.*$/m, `GENESIS_HASH=${hash}`)
    writeFileDurably(path, text, 0o644)
  }
  return { genesisHash: hash, files: [...geneses, ...variables] }
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
  const { publicKey: consensusPublicKey } = createValidatorKey(paths.validatorKey, randomBytes(ED25519_KEY_LENGTH))
  const { id: nodeId } = createNodeKey(paths.nodeKey, randomBytes(ED25519_KEY_LENGTH))
  const operator = hasOperator ? accountKey(randomBytes(ACCOUNT_SEED_BYTES)) : undefined
  if (operator !== undefined) {
    writeFileDurably(join(paths.config, 'operator_key.json'), formatAccountKey(operator), 0o600)
  }
  return { path, place, nodeId, consensusPublicKey, operator }
}

function genesisOf(options: TestnetOptions, wallet: Address, homes: readonly Home[]): Genesis {
  const { genesisTimeMs, chainId, selfDelegationAcoin, fundedAccounts = [], blockGasLimit } = options
  const operators = homes.flatMap(({ operator }) =>
    operator === undefined ? [] : [{ address: operator.address, balanceAcoin: OPERATOR_BALANCE_ACOIN }],
  )
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
    fundedAccounts: [...fundedAccounts, ...operators],
    ...(blockGasLimit === undefined ? {} : { blockGasLimit }),
  })
  // A copy: all genesis documents share their default parameters, and `changeGenesis` changes in place.
  return structuredClone(genesis)
}

/**
 * Where the nodes of a test network run: all on this machine, each with its own ports from `startingPort` on; or each on its own
 * host, `<prefix>0` and on, with the usual ports.
 */
type Placement =
  | { readonly kind: 'machine'; readonly startingPort: number }
  | { readonly kind: 'hosts'; readonly prefix: string }

interface NodePlace {
  readonly name: string
  /** on this machine */
  readonly isLocal: boolean
  readonly rpcUrl: string
  /** host:port */
  readonly peerAddress: string
  readonly variables: Readonly<Record<string, string>>
}

/** Distance between the ports of two nodes on one machine. A node has three: RPC, peers, metrics. */
export const PORTS_A_NODE = 10
const LOOPBACK = '127.0.0.1'

/** Returns where the node with this number runs. */
function placeNode(placement: Placement, index: number): NodePlace {
  if (placement.kind === 'hosts') {
    const host = `${placement.prefix}${index}`
    return {
      name: host,
      isLocal: false,
      rpcUrl: `http://${host}:8080`,
      peerAddress: `${host}:26656`,
      variables: {},
    }
  }
  const port = placement.startingPort + index * PORTS_A_NODE
  return {
    name: `node${index}`,
    isLocal: true,
    rpcUrl: `http://${LOOPBACK}:${port}`,
    peerAddress: `${LOOPBACK}:${port + 1}`,
    variables: {
      RPC_HOST: LOOPBACK,
      RPC_PORT: String(port),
      P2P_HOST: LOOPBACK,
      P2P_PORT: String(port + 1),
      METRICS_PORT: String(port + 2),
    },
  }
}

/** An account whose key a test network makes. */
interface AccountKey {
  readonly address: Address
  /** 32 bytes */
  readonly privateKey: Uint8Array
}

/** @param seed 48 random bytes; any value yields a key */
function accountKey(seed: Uint8Array): AccountKey {
  const privateKey = secp256k1.utils.randomSecretKey(seed)
  const publicKey = secp256k1.getPublicKey(privateKey, false)
  return { address: publicKeyToAddress(publicKey.subarray(1)), privateKey }
}

/** Returns the text of a file with the key, which only its owner may read. */
function formatAccountKey({ address, privateKey }: AccountKey): string {
  const json = {
    address: toChecksumAddress(address),
    bech32_address: toBech32(address),
    private_key: bytesToHex(privateKey),
  }
  return `${JSON.stringify(json, null, 2)}\n`
}

const QUOTES = ["'", '"', '`']

/**
 * Returns lines of a `.env` file, which Docker's --env-file reads too. Docker takes quotes
 * literally, so only unusual values are quoted.
 * @throws TypeError for a value that holds every kind of quote, or a line break
 */
function formatVariables(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('')
}

function quoted(value: string): string {
  if (/^[\w./:@,+-]*$/.test(value)) return value
  const quote = QUOTES.find((candidate) => !value.includes(candidate))
  if (quote === undefined || /[\r\n]/.test(value))
    throw new TypeError(`${JSON.stringify(value)} cannot be written to .env`)
  return quote + value + quote
}
