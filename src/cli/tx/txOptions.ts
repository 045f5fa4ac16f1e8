import { type Command, InvalidArgumentError, Option } from 'commander'
import { BASE_DENOM } from '../../chain/genesis/genesisConstants.ts'
import { ConfigError } from '../../config/configError.ts'
import { ACCOUNT_NUMBER } from '../../modules/tx/signDocuments.ts'
import { SIGN_MODES } from '../../modules/tx/types.ts'
import { parseDecimal } from '../../primitives/decimal.ts'
import { connectNode, type NodeClient, type NodeOptions } from '../nodeClient.ts'
import type { OutputOption } from '../output.ts'
import type { Terminal } from '../ports.ts'
import { addSpelling } from '../spelling.ts'
import { BROADCAST_MODES, type BroadcastMode, type TransactionRequest } from './sendTransaction.ts'
import { accountText, parseAmount } from './txCommand.ts'

/*
 * Options of the commands below `coind tx`. Each has the name that it has in the Cosmos SDK's programs too.
 */

/** Names of sign modes on the command line. */
const MODES: Readonly<Record<string, number>> = {
  direct: SIGN_MODES.SIGN_MODE_DIRECT,
  'amino-json': SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON,
}

export interface BroadcastOptions extends NodeOptions, OutputOption {
  readonly broadcastMode?: BroadcastMode
}

export function addBroadcastOptions(command: Command): Command {
  return command.addOption(
    new Option(
      '-b, --broadcast-mode <mode>',
      'wait for the block (block), for the check by the node (sync), or for nothing (async)',
    )
      .choices(BROADCAST_MODES)
      .default('block'),
  )
}

export interface SigningOptions extends NodeOptions, OutputOption {
  readonly chainId?: string
  readonly accountNumber?: bigint
  readonly sequence?: bigint
  readonly offline?: true
  readonly signMode?: string
}

/** Adds the options by which signing knows the chain and the account. */
export function addSigningOptions(command: Command): Command {
  return command
    .addOption(new Option('--chain-id <id>', "chain to sign for (default: the node's)"))
    .addOption(
      new Option('-s, --sequence <n>', 'sequence of the account (default: from the node)').argParser(readInteger),
    )
    .addOption(
      new Option('-a, --account-number <n>', 'account number; 0 for all accounts of this chain').argParser(
        readAccountNumber,
      ),
    )
    .addOption(new Option('--sign-mode <mode>', 'sign mode').choices(Object.keys(MODES)))
    .addOption(new Option('--offline', 'query no node: its values must be given as options'))
}

/** Returns the sign mode that `--sign-mode` names. */
export function signModeOf({ signMode }: SigningOptions): number | undefined {
  return signMode === undefined ? undefined : MODES[signMode]
}

/** Returns the client for a command's node; undefined with `--offline`. */
export function clientOf(options: SigningOptions, terminal: Terminal): NodeClient {
  if (options.offline !== true) return connectNode(options, terminal)
  const refuse = async (): Promise<never> => {
    throw new ConfigError('--offline queries no node: give --chain-id and --sequence to sign, --gas and --fee to build')
  }
  return { url: '', get: refuse, post: refuse, comet: refuse }
}

/** Factor of the simulated gas (18 decimals): the simulation runs without signature and fee, and on an older block. */
const DEFAULT_ADJUSTMENT = 11n * 10n ** 17n

export interface BuildOptions {
  readonly sequence?: bigint
  readonly gas?: bigint | 'auto'
  readonly gasAdjustment: bigint
  readonly fee?: bigint
  readonly gasPrice?: bigint
  readonly memo: string
  readonly timeoutHeight: bigint
  readonly feePayer?: string
  readonly feeGranter?: string
}

/** Adds the options for the parts of a transaction other than its messages. */
export function addBuildOptions(command: Command): Command {
  const fee = new Option('--fee <amount>', 'total fee, such as 0.01COIN (default: from the base fee)').argParser(
    parseAmount,
  )
  const price = new Option('--gas-price <acoin>', 'fee per gas, in acoin').argParser(readPrice)
  const memo = new Option('--memo <text>', 'public remark').default('')
  command
    .addOption(new Option('--gas <n>', 'gas limit (default: auto, simulated)').argParser(readGas))
    .addOption(
      new Option('--gas-adjustment <factor>', 'factor for the simulated gas')
        .argParser(readFactor)
        .default(DEFAULT_ADJUSTMENT, '1.1'),
    )
    .addOption(fee)
    .addOption(price)
    .addOption(memo)
    .addOption(
      new Option('--timeout-height <n>', 'last block that may include the transaction')
        .argParser(readInteger)
        .default(0n, 'any'),
    )
    .addOption(new Option('--fee-payer <address>', 'account that pays the fee; it must sign too'))
    .addOption(new Option('--fee-granter <address>', 'account whose fee allowance pays'))
  addSpelling(command, fee, '--fees')
  addSpelling(command, price, '--gas-prices')
  return addSpelling(command, memo, '--note')
}

export function requestOf(options: BuildOptions): TransactionRequest {
  const { sequence, gas, gasAdjustment, fee, gasPrice, memo, timeoutHeight, feePayer, feeGranter } = options
  return {
    sequence,
    gasLimit: gas === 'auto' ? undefined : gas,
    gasAdjustment,
    feeAcoin: fee,
    gasPriceAcoin: gasPrice,
    memo,
    timeoutHeight,
    feePayer: feePayer === undefined ? '' : accountText(feePayer),
    feeGranter: feeGranter === undefined ? '' : accountText(feeGranter),
  }
}

function readInteger(text: string): bigint {
  if (!/^\d{1,30}$/.test(text)) throw new InvalidArgumentError('Give a whole number.')
  return BigInt(text)
}

function readGas(text: string): bigint | 'auto' {
  return text === 'auto' ? text : readInteger(text)
}

function readAccountNumber(text: string): bigint {
  if (readInteger(text) === ACCOUNT_NUMBER) return ACCOUNT_NUMBER
  throw new InvalidArgumentError('Give 0: all accounts of this chain have the number 0.')
}

/** Reads a price in acoin per gas, 18 decimals, with or without its unit. */
function readPrice(text: string): bigint {
  const price = parseDecimal(text.endsWith(BASE_DENOM) ? text.slice(0, -BASE_DENOM.length) : text)
  if (price === undefined || price < 0n) throw new InvalidArgumentError(`Give a number of ${BASE_DENOM}.`)
  return price
}

function readFactor(text: string): bigint {
  const factor = parseDecimal(text)
  if (factor === undefined || factor < 10n ** 18n) throw new InvalidArgumentError('Give a number of at least 1.')
  return factor
}
