import { type Command, InvalidArgumentError, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import type { MessageHandler } from '../../modules/message.ts'
import { MESSAGES } from '../../modules/messages.ts'
import { addressOf } from '../../modules/tx/signTransaction.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { parseDecimal } from '../../primitives/decimal.ts'
import { JsonFormError } from '../../primitives/protoScalars.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { JSON_TYPES_OF_ANY } from '../../rpc/native/anyTypes.ts'
import {
  addKeystoreOptions,
  addSecretOptions,
  givenPrivateKey,
  type KeystoreOptions,
  keystoreDirectory,
  readPassword,
  type SecretOptions,
  sourceOf,
} from '../keys/keyOptions.ts'
import { openKeystore } from '../keys/keystore.ts'
import { addNodeOption, connectNode, type NodeOptions } from '../nodeClient.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { AUTHZ_COMMANDS, BANK_COMMANDS, FEEGRANT_COMMANDS } from '../tx/accountCommands.ts'
import { GOV_COMMANDS } from '../tx/govCommands.ts'
import {
  broadcast,
  completeTerms,
  type Signer,
  sign,
  type TransactionRequest,
  waitForBlock,
} from '../tx/sendTransaction.ts'
import { DISTRIBUTION_COMMANDS, SLASHING_COMMANDS, STAKING_COMMANDS } from '../tx/stakingCommands.ts'
import {
  accountText,
  formatAmount,
  type MessageJson,
  parseAmount,
  readMessages,
  type TxCommand,
} from '../tx/txCommand.ts'

interface Options extends NodeOptions, KeystoreOptions, SecretOptions {
  readonly from?: string
  readonly chainId?: string
  readonly sequence?: bigint
  readonly gas?: bigint
  readonly gasAdjustment: bigint
  readonly fee?: bigint
  readonly gasPrice?: bigint
  readonly memo: string
  readonly timeoutHeight: bigint
  readonly feeGranter?: string
  readonly dryRun?: true
  readonly async?: true
}

/** Default of --gas-adjustment (18 decimals): the simulation runs without signature and fee, and on an older block. */
const DEFAULT_ADJUSTMENT = 11n * 10n ** 17n

/** Every command below `coind tx` that makes messages. */
export const MESSAGE_COMMANDS: readonly TxCommand[] = [
  ...BANK_COMMANDS,
  ...STAKING_COMMANDS,
  ...DISTRIBUTION_COMMANDS,
  ...GOV_COMMANDS,
  ...SLASHING_COMMANDS,
  ...AUTHZ_COMMANDS,
  ...FEEGRANT_COMMANDS,
  {
    group: 'messages',
    name: 'send',
    description: 'Send any messages in one transaction',
    arguments: [['<file>', 'JSON: an array of messages, each with its @type']],
    build: ({ args: [file], terminal }) => readMessages(file!, terminal),
  },
]

/** Adds `coind tx`: one command for each kind of message. */
export function addTx(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const root = program.command('tx').description('Sign a native transaction on this machine and send it to a node')
  const groups = new Map<string, Command>()
  for (const entry of MESSAGE_COMMANDS) {
    const group = groups.get(entry.group) ?? root.command(entry.group).description(`Messages of ${entry.group}`)
    groups.set(entry.group, group)
    addEntry(group, entry, terminal)
  }
  const broadcastCommand = root
    .command('broadcast')
    .description('Send a transaction that is signed already')
    .argument('<hex>', 'the signed transaction, native or EVM, as hex digits')
  addNodeOption(broadcastCommand).action(async (hex: string, options: NodeOptions) => {
    if (!/^(0x)?([0-9a-fA-F]{2})+$/.test(hex)) throw new ConfigError('the transaction must be given as hex digits')
    const client = connectNode(options, terminal)
    const hash = await broadcast(Buffer.from(hex.replace(/^0x/, ''), 'hex'), client)
    terminal.print(`${hash}\n`)
  })
}

function addEntry(group: Command, entry: TxCommand, terminal: Terminal): void {
  const command = group.command(entry.name).description(entry.description)
  for (const [name, description] of entry.arguments) command.argument(name, description)
  for (const option of entry.options ?? []) command.addOption(option)
  addTransactionOptions(command).action(async (...given: unknown[]) => {
    const args = given.slice(0, entry.arguments.length).flat() as string[]
    const options = command.opts<Options>()
    const client = connectNode(options, terminal)
    const signer = await readSigner(options, terminal)
    const from = toBech32(signer.address)
    const values = command.opts<Record<string, string | boolean | undefined>>()
    const built = await entry.build({ from, args, options: values, client, terminal })
    const messages = built.map((message) => readMessage(message, signer.address))
    const terms = await completeTerms(messages, requestOf(options), signer, client)
    const raw = sign(messages, terms, signer)
    if (options.dryRun === true) {
      terminal.print(`gas ${terms.gasLimit}, fee ${formatAmount(terms.feeAcoin)}\n${bytesToHex(raw)}\n`)
      return
    }
    const hash = await broadcast(raw, client)
    const answer = options.async === true ? { txhash: hash } : await waitForBlock(hash, client, terminal.now)
    terminal.print(`${JSON.stringify(answer, null, 2)}\n`)
  })
}

function addTransactionOptions(command: Command): Command {
  const keyed = addSecretOptions(addKeystoreOptions(addNodeOption(command)))
  return keyed
    .addOption(new Option('--from <key>', 'name or address of the key in the keystore (needless with a given key)'))
    .addOption(new Option('--chain-id <id>', 'chain to sign for (default: that of the node)'))
    .addOption(new Option('--sequence <n>', 'of the account (default: as the node knows it)').argParser(readInteger))
    .addOption(new Option('--gas <n>', 'gas limit (default: simulated)').argParser(readInteger))
    .addOption(
      new Option('--gas-adjustment <factor>', 'of the simulated gas')
        .argParser(readFactor)
        .default(DEFAULT_ADJUSTMENT, '1.1'),
    )
    .addOption(
      new Option('--fee <amount>', 'fee in all, like 0.01COIN (default: from the base fee)').argParser(parseAmount),
    )
    .addOption(new Option('--gas-price <acoin>', 'fee per gas, in acoin').argParser(readInteger))
    .addOption(new Option('--memo <text>', 'remark that everybody can read').default(''))
    .addOption(
      new Option('--timeout-height <n>', 'last block that may take it').argParser(readInteger).default(0n, 'any'),
    )
    .addOption(new Option('--fee-granter <address>', 'account whose fee allowance pays'))
    .addOption(new Option('--dry-run', 'sign and show the transaction, and send nothing'))
    .addOption(new Option('--async', 'do not wait for the block'))
}

async function readSigner(options: Options, terminal: Terminal): Promise<Signer> {
  const keystore = openKeystore(keystoreDirectory(options, terminal))
  const given = await givenPrivateKey(options, terminal)
  if (given !== undefined) {
    const signer = signerOf(given)
    if (options.from !== undefined && !equalBytes(keystore.addressOf(options.from), signer.address)) {
      throw new ConfigError(
        `${sourceOf(options)} holds the key of ${toBech32(signer.address)}, not of ${options.from}: leave one of the two out`,
      )
    }
    return signer
  }
  if (options.from === undefined) {
    throw new ConfigError(`say who signs: --from with a key of ${keystore.directory}, or --private-key-file`)
  }
  const key = keystore.find(options.from)
  return signerOf(await keystore.open(key, await readPassword(options, key.name, terminal)))
}

function signerOf(privateKey: Uint8Array): Signer {
  return { address: addressOf({ privateKey }), privateKey }
}

function requestOf(options: Options): TransactionRequest {
  return {
    chainId: options.chainId,
    sequence: options.sequence,
    gasLimit: options.gas,
    gasAdjustment: options.gasAdjustment,
    feeAcoin: options.fee,
    gasPriceAcoin: options.gasPrice,
    memo: options.memo,
    timeoutHeight: options.timeoutHeight,
    feeGranter: options.feeGranter === undefined ? '' : accountText(options.feeGranter),
  }
}

/** @throws ConfigError when there is no such message, its fields are wrong, or another account than `signer` must sign it */
function readMessage({ '@type': typeUrl, ...fields }: MessageJson, signer: Address): AnyValue {
  const type = JSON_TYPES_OF_ANY.typeOf(typeUrl)
  const handler = MESSAGES.get(typeUrl)
  if (type === undefined || handler === undefined) throw new ConfigError(`there is no message ${typeUrl}`)
  try {
    const message = type.fromJson(fields, JSON_TYPES_OF_ANY)
    const other = signersOf(message, handler).find((address) => !equalBytes(address, signer))
    if (other !== undefined) {
      throw new ConfigError(`${typeUrl} has to be signed by ${toBech32(other)}, not by ${toBech32(signer)}`)
    }
    return { typeUrl, value: type.encode(message as never) }
  } catch (error) {
    if (error instanceof JsonFormError) throw new ConfigError(`${typeUrl}: ${error.message}`)
    throw error
  }
}

function signersOf(message: unknown, { type, signers }: MessageHandler): readonly Address[] {
  try {
    return signers(message)
  } catch (error) {
    throw new ConfigError(`${type.typeUrl}: the address of who signs is wrong: ${(error as Error).message}`)
  }
}

function readInteger(text: string): bigint {
  if (!/^\d{1,30}$/.test(text)) throw new InvalidArgumentError('It may hold a whole number.')
  return BigInt(text)
}

function readFactor(text: string): bigint {
  const factor = parseDecimal(text)
  if (factor === undefined || factor < 10n ** 18n) throw new InvalidArgumentError('It may hold a number from 1.')
  return factor
}
