import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addGenesisAccount } from '../../chain/genesis/addGenesisAccount.ts'
import { createDraftGenesis } from '../../chain/genesis/createGenesis.ts'
import { formatGenesis, genesisHash } from '../../chain/genesis/genesis.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { VARIABLES } from '../../config/variables.ts'
import { createValidatorKey, loadPublicKey, loadValidatorKey, type ValidatorKey } from '../../consensus/validatorKey.ts'
import { type DataPaths, dataPaths } from '../../datadir/dataDirectory.ts'
import { readGenesisFile } from '../../datadir/initNode.ts'
import { loadNodeKey, loadOrCreateNodeKey } from '../../p2p/nodeKey.ts'
import { toBech32 } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { ED25519_KEY_LENGTH } from '../../primitives/ed25519.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import { writeFileDurably } from '../../storage/writeFileDurably.ts'
import { addConfigFlags, configOf, configSources } from '../configFlags.ts'
import {
  addKeystoreOptions,
  addSecretOptions,
  type KeystoreOptions,
  keystoreDirectory,
  type SecretOptions,
} from '../keys/keyOptions.ts'
import { openKeystore } from '../keys/keystore.ts'
import { createNodeClient } from '../nodeClient.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { CREATE_VALIDATOR } from '../tx/stakingCommands.ts'
import { parseAmount, readJsonFile } from '../tx/txCommand.ts'

/*
 * `coind genesis`: a network of several operators begins with a draft (`init`), to which accounts are added (`add-genesis-account`). Each
 * operator signs a transaction that makes its validator (`gentx`), and one of them makes the genesis of all these (`collect-gentxs`), which
 * everybody can check (`validate`). Names, files and texts are those of gaiad.
 */

const { network, chainId, evmChainId, homedir, moniker, externalP2pAddress } = VARIABLES
const HOME_FLAGS = [homedir, network, chainId, evmChainId]

export function addGenesis(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const group = program.command('genesis').description('Work with genesis files')
  addHash(group, terminal)
  addValidate(group, terminal)
  addDraft(group, terminal)
  addAccount(group, terminal)
  addGentx(group, terminal)
  addCollect(group, terminal)
}

function addHash(group: Command, terminal: Terminal): void {
  const command = group
    .command('hash')
    .description('Check a genesis file and print its hash, the value of GENESIS_HASH')
    .argument('[file]', 'file to read (default: the one in HOMEDIR)')
  addConfigFlags(command).action((file: string | undefined) => {
    terminal.print(`${hashText(readGenesisFile(genesisPath(command, file, terminal)))}\n`)
  })
}

function addValidate(group: Command, terminal: Terminal): void {
  const command = group
    .command('validate')
    .alias('validate-genesis')
    .description('Check a genesis file, and that its validators match the genesis transactions of the operators')
    .argument('[file]', 'file to read (default: the one in HOMEDIR)')
  addConfigFlags(command, HOME_FLAGS).action(async (file: string | undefined) => {
    const path = genesisPath(command, file, terminal)
    const genesis = readGenesisFile(path)
    const { checkGentxs } = await import('../../datadir/collectGentxs.ts')
    const { JSON_TYPES_OF_ANY } = await import('../../rpc/cosmos/anyTypes.ts')
    checkGentxs(genesis, JSON_TYPES_OF_ANY)
    terminal.print(`File at ${path} is a valid genesis file\n`)
  })
}

function addDraft(group: Command, terminal: Terminal): void {
  const command = group
    .command('init')
    .description('Create the data directory with keys and an empty genesis, for a network of several operators')
    .addOption(
      new Option('--genesis-time <time>', 'start of the chain, such as 2027-01-01T00:00:00Z (default: now)').argParser(
        readTime,
      ),
    )
  addConfigFlags(command, HOME_FLAGS).action(({ genesisTime }: { readonly genesisTime?: number }) => {
    const config = configOf(command, terminal)
    const paths = dataPaths(config.homedir)
    if (existsSync(paths.genesis)) throw new ConfigError(`${paths.genesis} already exists: move it away first`)
    const genesis = createDraftGenesis({ chainId: config.chainId, genesisTimeMs: genesisTime ?? Date.now() })
    const nodeKey = loadOrCreateNodeKey(paths.nodeKey)
    if (config.signer === undefined) validatorKeyOf(paths)
    writeGenesis(paths, genesis)
    terminal.print(`Created ${paths.genesis}\n  chain ID  ${config.chainId}\n  node ID   ${nodeKey.id}\n`)
  })
}

interface AccountOptions extends KeystoreOptions {
  readonly vestingAmount?: bigint
  readonly vestingStartTime: bigint
  readonly vestingEndTime: bigint
  readonly append?: true
}

function addAccount(group: Command, terminal: Terminal): void {
  const command = group
    .command('add-genesis-account')
    .alias('add-account')
    .description('Add an account, optionally with vesting coins, to the genesis in HOMEDIR')
    .argument('<address-or-key>', 'coin1…, 0x…, or the name of a key in the keystore')
    .argument('<amount>', 'total amount, such as 1000COIN')
    .addOption(new Option('--vesting-amount <amount>', 'part of the amount that vests').argParser(parseAmount))
    .addOption(
      new Option(
        '--vesting-start-time <seconds>',
        'start of continuous vesting, in seconds since the epoch (default: all vest at the end)',
      )
        .argParser(readSeconds)
        .default(0n, '0'),
    )
    .addOption(
      new Option('--vesting-end-time <seconds>', 'end of vesting, in seconds since the epoch')
        .argParser(readSeconds)
        .default(0n, '0'),
    )
    .option('--append', 'add the coins to an existing account')
  addConfigFlags(addKeystoreOptions(command), HOME_FLAGS).action(
    (name: string, amount: string, options: AccountOptions) => {
      const paths = dataPaths(configOf(command, terminal).homedir)
      const { vestingAmount = 0n, vestingStartTime: startTime, vestingEndTime: endTime, append = false } = options
      const added = addGenesisAccount(readGenesisFile(paths.genesis, true), {
        address: openKeystore(keystoreDirectory(options, terminal)).addressOf(name),
        balanceAcoin: parseAmount(amount),
        isAppended: append,
        ...(vestingAmount > 0n && { vesting: { amountAcoin: vestingAmount, startTime, endTime } }),
      })
      writeGenesis(paths, added)
    },
  )
}

interface GentxOptions extends KeystoreOptions, SecretOptions {
  readonly ip?: string
  readonly p2pPort: string
  readonly nodeId?: string
  readonly pubkey?: string
  readonly outputDocument?: string
}

/** Gas limit of a gentx, as in gaiad; no account pays for the gas. */
const GENTX_GAS = 200_000n

function addGentx(group: Command, terminal: Terminal): void {
  const command = group
    .command('gentx')
    .description('Sign a genesis transaction that makes this node a validator from the first block, for collect-gentxs')
    .argument('<key>', 'name or address of the operator’s key in the keystore')
    .argument('<amount>', 'self-delegation, from the coins of the account in the genesis')
    .option('--ip <host>', 'host where other nodes reach this one (default: EXTERNAL_P2P_ADDRESS)')
    .option('--p2p-port <port>', 'port for --ip', '26656')
    .option('--node-id <id>', 'ID of the node (default: from HOMEDIR)')
    .option('--output-document <file>', 'file to write (default: config/gentx/gentx-<node ID>.json in HOMEDIR)')
  for (const option of CREATE_VALIDATOR.options ?? []) {
    if (option.long === '--moniker') continue
    command.addOption(
      option.long === '--pubkey' ? new Option(option.flags, 'consensus key, ed25519 (default: from HOMEDIR)') : option,
    )
  }
  const flags = [...HOME_FLAGS, moniker, externalP2pAddress]
  addConfigFlags(addSecretOptions(addKeystoreOptions(command)), flags).action(
    async (key: string, amount: string, options: GentxOptions) => {
      // The other options have names of settings too.
      const config = loadConfig(configSources(command, terminal, flags), terminal.homeDirectory)
      const paths = dataPaths(config.homedir)
      const genesis = readGenesisFile(paths.genesis, true)
      const nodeId = options.nodeId ?? loadOrCreateNodeKey(paths.nodeKey).id
      const pubkey = options.pubkey ?? Buffer.from(consensusKeyOf(config, paths)).toString('base64')
      const host = options.ip === undefined ? config.p2p.externalAddress : `${options.ip}:${options.p2pPort}`
      if (host === undefined) {
        throw new ConfigError('the address for other nodes is missing: give --ip, or set EXTERNAL_P2P_ADDRESS')
      }
      const { openSigner } = await import('../keys/signer.ts')
      const { signGentx } = await import('../tx/signGentx.ts')
      const signer = await openSigner({ ...options, from: key }, terminal)
      const messages = await CREATE_VALIDATOR.build({
        from: toBech32(signer.key.address),
        args: [amount],
        options: { ...command.opts<Record<string, string>>(), moniker: config.moniker, pubkey },
        client: createNodeClient('http://localhost'),
        terminal,
      })
      const memo = `${nodeId}@${host}`
      const json = await signGentx({ genesis, message: messages[0]!, signer, memo, gasLimit: GENTX_GAS })
      const directory = gentxDirectory(paths)
      const file =
        options.outputDocument === undefined
          ? join(directory, `gentx-${nodeId}.json`)
          : resolve(terminal.workingDirectory, options.outputDocument)
      if (existsSync(file)) throw new ConfigError(`${file} already exists: move it away, or give --output-document`)
      if (options.outputDocument === undefined) mkdirSync(directory, { recursive: true, mode: 0o700 })
      writeFileDurably(file, `${JSON.stringify(json)}\n`, 0o644)
      terminal.print(`Genesis transaction written to ${JSON.stringify(file)}\n`)
    },
  )
}

function addCollect(group: Command, terminal: Terminal): void {
  const command = group
    .command('collect-gentxs')
    .description('Create the validators of the genesis in HOMEDIR from the operators’ genesis transactions')
    .option('--gentx-dir <directory>', 'directory of the genesis transactions (default: config/gentx in HOMEDIR)')
  addConfigFlags(command, HOME_FLAGS).action(async ({ gentxDir }: { readonly gentxDir?: string }) => {
    const paths = dataPaths(configOf(command, terminal).homedir)
    const draft = readGenesisFile(paths.genesis, true)
    const directory = gentxDir === undefined ? gentxDirectory(paths) : resolve(terminal.workingDirectory, gentxDir)
    const { collectGentxs } = await import('../../datadir/collectGentxs.ts')
    const { JSON_TYPES_OF_ANY } = await import('../../rpc/cosmos/anyTypes.ts')
    const { genesis, peers } = collectGentxs(draft, readGentxs(directory, terminal), JSON_TYPES_OF_ANY)
    writeGenesis(paths, genesis)
    const own = loadNodeKey(paths.nodeKey)?.id ?? ''
    const others = peers.filter((address) => !address.startsWith(`${own}@`)).sort()
    terminal.print(`Created ${paths.genesis} with ${peers.length} validators
  genesis hash  ${hashText(genesis)}
Set for this node: PERSISTENT_PEERS=${others.join(',')}
`)
  })
}

/** Reads gentxs in the order of the files' names. @throws ConfigError */
function readGentxs(directory: string, terminal: Terminal): readonly { readonly name: string; readonly json: Json }[] {
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.json')) : []
  const files = names.sort().map((name) => join(directory, name))
  return files.map((file) => ({ name: file, json: readJsonFile(file, terminal) as Json }))
}

/** Returns the key of its validator, and makes one if there is no key. */
function validatorKeyOf(paths: DataPaths): ValidatorKey {
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  return loadValidatorKey(paths.validatorKey) ?? createValidatorKey(paths.validatorKey, randomBytes(ED25519_KEY_LENGTH))
}

/**
 * Returns the public key of the node's validator.
 * @throws ConfigError when a remote signer has it, and has not connected yet
 */
function consensusKeyOf({ signer }: Config, paths: DataPaths): Uint8Array {
  if (signer === undefined) return validatorKeyOf(paths).publicKey
  const publicKey = loadPublicKey(paths.signerPublicKey)
  if (publicKey !== undefined) return publicKey
  throw new ConfigError(
    'the consensus key is in a remote signer (PRIV_VALIDATOR_LADDR): give its public key with --pubkey',
  )
}

function genesisPath(command: Command, file: string | undefined, terminal: Terminal): string {
  return file === undefined
    ? dataPaths(configOf(command, terminal).homedir).genesis
    : resolve(terminal.workingDirectory, file)
}

/** @throws ConfigError when the directory has a chain, which a genesis may not change under */
function writeGenesis(paths: DataPaths, genesis: Genesis): void {
  if (existsSync(paths.db) && readdirSync(paths.db).length > 0) {
    throw new ConfigError(`${paths.db} holds a chain: its genesis cannot change`)
  }
  writeFileDurably(paths.genesis, formatGenesis(genesis), 0o644)
}

function gentxDirectory({ config }: Pick<DataPaths, 'config'>): string {
  return join(config, 'gentx')
}

function hashText(genesis: Genesis): string {
  return bytesToHex(genesisHash(genesis)).slice(2)
}

function readSeconds(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('Give a whole number of seconds.')
  return BigInt(text)
}

function readTime(text: string): number {
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs)) throw new InvalidArgumentError('Give a time such as 2027-01-01T00:00:00Z.')
  return timeMs
}
