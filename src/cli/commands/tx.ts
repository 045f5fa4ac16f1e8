import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import type { MessageHandler } from '../../modules/message.ts'
import { MESSAGES } from '../../modules/messageTable.ts'
import { Tx } from '../../modules/tx/types.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { JsonFormError } from '../../primitives/protoScalars.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { JSON_TYPES_OF_ANY } from '../../rpc/cosmos/anyTypes.ts'
import { addKeystoreOptions, addSecretOptions } from '../keys/keyOptions.ts'
import { addFromOption, openSigner, readSender, type SignerOptions, senderOf } from '../keys/signer.ts'
import { addNodeOption } from '../nodeClient.ts'
import { addOutputOption, formatAnswer } from '../output.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { AUTHZ_COMMANDS, BANK_COMMANDS, FEEGRANT_COMMANDS } from '../tx/accountCommands.ts'
import { addFileCommands } from '../tx/fileCommands.ts'
import { GOV_COMMANDS } from '../tx/govCommands.ts'
import { createTx, networkOf, send, sequenceOf } from '../tx/sendTransaction.ts'
import { makeSignature, withSignature } from '../tx/signTx.ts'
import { DISTRIBUTION_COMMANDS, SLASHING_COMMANDS, STAKING_COMMANDS } from '../tx/stakingCommands.ts'
import { formatAmount, type MessageJson, readMessages, type TxCommand } from '../tx/txCommand.ts'
import { writeTx } from '../tx/txFile.ts'
import {
  addBroadcastOptions,
  addBuildOptions,
  addSigningOptions,
  type BroadcastOptions,
  type BuildOptions,
  clientOf,
  requestOf,
  type SigningOptions,
  signModeOf,
} from '../tx/txOptions.ts'
import { VESTING_COMMANDS } from '../tx/vestingCommands.ts'

interface Options extends SigningOptions, BroadcastOptions, BuildOptions, SignerOptions {
  readonly sequence?: bigint
  readonly generateOnly?: true
  readonly dryRun?: true
  readonly async?: true
}

/** Every command below `coind tx` that makes messages. */
export const MESSAGE_COMMANDS: readonly TxCommand[] = [
  ...BANK_COMMANDS,
  ...STAKING_COMMANDS,
  ...DISTRIBUTION_COMMANDS,
  ...GOV_COMMANDS,
  ...SLASHING_COMMANDS,
  ...AUTHZ_COMMANDS,
  ...FEEGRANT_COMMANDS,
  ...VESTING_COMMANDS,
  {
    group: 'messages',
    name: 'send',
    description: 'Send any messages in one transaction',
    arguments: [['<file>', 'JSON file with an array of messages, each with its @type']],
    build: ({ args: [file], terminal }) => readMessages(file!, terminal),
  },
]

/** Adds `coind tx`: one command for each kind of message, and those for files of transactions. */
export function addTx(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const root = program.command('tx').description('Sign a native transaction on this machine and send it to a node')
  const groups = new Map<string, Command>()
  for (const entry of MESSAGE_COMMANDS) {
    const group = groups.get(entry.group) ?? root.command(entry.group).description(`Messages of ${entry.group}`)
    groups.set(entry.group, group)
    addEntry(group, entry, terminal)
  }
  addFileCommands(root, terminal)
}

function addEntry(group: Command, entry: TxCommand, terminal: Terminal): void {
  const command = group
    .command(entry.name)
    .description(entry.description)
    .aliases(entry.aliases ?? [])
  for (const [name, description] of entry.arguments) command.argument(name, description)
  // The sender may stand before the arguments.
  if (entry.sdkForm !== undefined) command.allowExcessArguments()
  for (const option of entry.options ?? []) command.addOption(option)
  addTransactionOptions(command).action(async () => {
    const sdk = entry.sdkForm?.(command.args)
    const args = sdk?.args ?? command.args
    const { length } = entry.arguments
    if (args.length > length && entry.arguments.at(-1)?.[0].endsWith('...>') !== true) {
      command.error(
        `error: too many arguments for '${entry.name}'. Expected ${length} arguments but got ${args.length}.`,
      )
    }
    const given = command.opts<Options>()
    const options = sdk === undefined ? given : { ...given, from: given.from ?? sdk.from }
    const client = clientOf(options, terminal)
    const isUnsigned = options.generateOnly === true
    const signer = isUnsigned ? undefined : await openSigner(options, terminal)
    const sender = signer === undefined ? await readSender(options, terminal) : senderOf(signer)
    const from = toBech32(sender.address)
    const values = command.opts<Record<string, string | boolean | undefined>>()
    const built = await entry.build({ from, args, options: values, client, terminal })
    const messages = built.map((message) => readMessage(message, sender.address))
    const request = requestOf(options)
    if (signer === undefined) {
      writeTx(await createTx(messages, request, sender, client), options, terminal)
      return
    }
    if (request.feePayer !== '' && request.feePayer !== from) {
      throw new ConfigError(
        `${request.feePayer} must sign too: build the transaction with --generate-only, then run tx sign for each signer`,
      )
    }
    const chainId = options.chainId ?? (await networkOf(client))
    const sequence = options.sequence ?? (await sequenceOf(sender.address, client))
    const tx = await createTx(messages, { ...request, sequence }, sender, client)
    const terms = { chainId, sequence, mode: signModeOf(options) }
    const signed = withSignature(tx, sender.address, await makeSignature(tx, sender.address, signer, terms))
    const raw = Tx.encode(signed)
    if (options.dryRun === true) {
      const { gasLimit, amount } = tx.authInfo!.fee!
      const feeAcoin = amount.reduce((sum, coin) => sum + coin.amount, 0n)
      terminal.print(`gas ${gasLimit}, fee ${formatAmount(feeAcoin)}\n${bytesToHex(raw)}\n`)
      return
    }
    const mode = options.async === true ? 'sync' : options.broadcastMode!
    terminal.print(formatAnswer(await send(raw, mode, client, terminal.now), options))
  })
}

function addTransactionOptions(command: Command): Command {
  const keyed = addFromOption(addSecretOptions(addKeystoreOptions(addNodeOption(command))))
  return addOutputOption(addBroadcastOptions(addBuildOptions(addSigningOptions(keyed))))
    .addOption(new Option('--generate-only', 'print the unsigned transaction for tx sign, and send nothing'))
    .addOption(new Option('--dry-run', 'sign and show the transaction, and send nothing'))
    .addOption(new Option('--async', 'do not wait for the block'))
    .addOption(new Option('-y, --yes', 'no effect, accepted for compatibility').hideHelp())
}

/** @throws ConfigError when there is no such message, its fields are wrong, or another account than `signer` must sign it */
function readMessage({ '@type': typeUrl, ...fields }: MessageJson, signer: Address): AnyValue {
  const type = JSON_TYPES_OF_ANY.typeOf(typeUrl)
  const handler = MESSAGES.get(typeUrl)
  if (type === undefined || handler === undefined) throw new ConfigError(`unknown message type ${typeUrl}`)
  try {
    const message = type.fromJson(fields, JSON_TYPES_OF_ANY)
    const other = signersOf(message, handler).find((address) => !equalBytes(address, signer))
    if (other !== undefined) {
      throw new ConfigError(`${typeUrl} must be signed by ${toBech32(other)}, not by ${toBech32(signer)}`)
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
    throw new ConfigError(`${type.typeUrl}: the signer's address is invalid: ${(error as Error).message}`)
  }
}
