import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Option } from 'commander'
import { BASE_DENOM, COIN_DECIMALS, DISPLAY_DENOM } from '../../chain/genesis/genesisConstants.ts'
import { ConfigError } from '../../config/configError.ts'
import { BECH32_ACCOUNT, BECH32_OPERATOR, parseTypedAddress, toBech32 } from '../../primitives/address.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { NodeClient } from '../nodeClient.ts'
import type { Terminal } from '../ports.ts'

/** A message in the JSON of grpc-gateway, with its `@type`. */
export type MessageJson = { readonly '@type': string } & { readonly [name: string]: Json }

/** Input from which a command makes its messages. */
export interface TxInput {
  /** the signer, `coin1…` */
  readonly from: string
  /** in the order of `TxCommand.arguments` */
  readonly args: readonly string[]
  /** by attribute name, e.g. `commissionRate` */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly client: NodeClient
  readonly terminal: Terminal
}

/** One command below `coind tx`: a row of a module's table. The functions below read its arguments. */
export interface TxCommand {
  readonly group: string
  readonly name: string
  readonly description: string
  /** other names, those of the Cosmos SDK's programs */
  readonly aliases?: readonly string[]
  /**
   * The arguments in the order of those programs, which name the sender before them; undefined when they are in our own.
   */
  sdkForm?(args: readonly string[]): { readonly from: string; readonly args: readonly string[] } | undefined
  /** each in commander's notation, `<needed>`, `[optional]` or `<several...>`, with its description */
  readonly arguments: readonly (readonly [name: string, description: string])[]
  readonly options?: readonly Option[]
  /** @throws ConfigError for arguments or options that are wrong */
  build(input: TxInput): readonly MessageJson[] | Promise<readonly MessageJson[]>
}

/** Returns an account as `coin1…`, from either encoding. @throws ConfigError when the text is not an address */
export function accountText(text: string): string {
  return toBech32(parseAddressText(text, BECH32_ACCOUNT))
}

/**
 * Returns a validator's operator as `coinvaloper1…`, from `coinvaloper1…`, `coin1…` or `0x…`.
 * @throws ConfigError when the text is not an address
 */
export function operatorText(text: string): string {
  return toBech32(
    parseAddressText(text, text.startsWith(`${BECH32_OPERATOR}1`) ? BECH32_OPERATOR : BECH32_ACCOUNT),
    BECH32_OPERATOR,
  )
}

function parseAddressText(text: string, prefix: string): Uint8Array {
  try {
    return parseTypedAddress(text, prefix)
  } catch (error) {
    throw new ConfigError(`${text} is not an address: ${(error as Error).message}`)
  }
}

/**
 * Reads an amount with its unit, as acoin: `1.5COIN`, `250acoin`.
 * @throws ConfigError for anything else, also for a number without a unit, which could mean either
 */
export function parseAmount(text: string): bigint {
  const match = /^(\d{1,60})(?:\.(\d{1,18}))?\s?([a-zA-Z]+)$/.exec(text)
  const [, whole = '', fraction = '', unit = ''] = match ?? []
  if (match !== null && unit.toUpperCase() === DISPLAY_DENOM) {
    return BigInt(whole + fraction.padEnd(COIN_DECIMALS, '0'))
  }
  if (match !== null && unit === BASE_DENOM && fraction === '') return BigInt(whole)
  throw new ConfigError(
    `${text} is not an amount: expected a number with its unit, such as 1.5${DISPLAY_DENOM} or 250${BASE_DENOM}`,
  )
}

export function isAmount(text: string): boolean {
  try {
    parseAmount(text)
    return true
  } catch {
    return false
  }
}

/** Returns an `sdkForm` for commands with `count` arguments: one more, and the first is the sender. */
export function senderFirst(count: number): NonNullable<TxCommand['sdkForm']> {
  return ([from, ...args]) => (args.length === count ? { from: from!, args } : undefined)
}

/** Formats an amount in COIN for people: `1.5 COIN`. */
export function formatAmount(acoin: bigint): string {
  const digits = acoin.toString().padStart(COIN_DECIMALS + 1, '0')
  const fraction = digits.slice(-COIN_DECIMALS).replace(/0+$/, '')
  return `${digits.slice(0, -COIN_DECIMALS)}${fraction === '' ? '' : `.${fraction}`} ${DISPLAY_DENOM}`
}

/** Returns a cosmos.base.v1beta1.Coin in JSON. */
export function coinJson(acoin: bigint): { readonly denom: string; readonly amount: string } {
  return { denom: BASE_DENOM, amount: acoin.toString() }
}

/** Reads the value in a JSON file. @throws ConfigError when it cannot be read as JSON */
export function readJsonFile(path: string, { workingDirectory }: Pick<Terminal, 'workingDirectory'>): unknown {
  const file = resolve(workingDirectory, path)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(`cannot read ${file} as JSON (${(error as Error).message})`)
  }
}

/**
 * Reads the messages in a file: an array of objects with `@type`, or one such object.
 * @throws ConfigError when it holds anything else
 */
export function readMessages(path: string, terminal: Pick<Terminal, 'workingDirectory'>): readonly MessageJson[] {
  const value = readJsonFile(path, terminal)
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0 || !list.every(isMessage)) {
    throw new ConfigError(`${path} must hold an array of messages, each an object with its @type`)
  }
  return list
}

function isMessage(value: unknown): value is MessageJson {
  return typeof value === 'object' && value !== null && typeof (value as { '@type'?: unknown })['@type'] === 'string'
}
