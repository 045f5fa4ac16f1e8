import { createRequire } from 'node:module'
import { ConfigError } from '../../config/configError.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { type SingleKey, singleKey } from '../../modules/tx/publicKey.ts'
import type { TypedDataHashes } from '../../modules/tx/typedData.ts'
import { bytesToHex, concatBytes, hexToBytes } from '../../primitives/bytes.ts'
import { compressPublicKey } from '../../primitives/secp256k1.ts'

/** The Ethereum application of a Ledger: what is used of @ledgerhq/hw-app-eth. Paths have no `m/`, hex digits no 0x. */
export interface Ledger {
  getAddress(path: string, showsAddress?: boolean): Promise<{ readonly publicKey: string; readonly address: string }>
  signEIP712HashedMessage(path: string, domain: string, message: string): Promise<LedgerSignature>
  /** @param resolution null: nothing about the transaction is looked up anywhere */
  signTransaction(path: string, unsigned: string, resolution: null): Promise<LedgerSignature>
}

/** 32 bytes each, in hex digits. */
interface LedgerSignature {
  readonly r: string
  readonly s: string
}

/** Transport of the commands to a Ledger (APDU): @ledgerhq/hw-transport. */
export interface LedgerTransport {
  close(): Promise<void>
}

/** The packages are CommonJS: their second form, for bundlers, is one that Node.js cannot load. */
const require = createRequire(import.meta.url)

/** Loads a package that may not be installed. @throws ConfigError */
function load<T>(name: string): T {
  try {
    return require(name) as T
  } catch (error) {
    const [why] = (error as Error).message.split('\n')
    throw new ConfigError(`Ledgers cannot be used here: npm's optional packages or libusb-1.0 are missing (${why})`)
  }
}

/** Ledgers that are connected by USB: what is used of @ledgerhq/hw-transport-node-hid-noevents. */
interface HidTransports {
  list(): Promise<readonly string[]>
  open(path: string): Promise<LedgerTransport>
}

/** Opens the Ledger that is connected by USB. @throws ConfigError when no Ledger is connected */
export async function openHidTransport(): Promise<LedgerTransport> {
  const { default: hid } = load<{ default: HidTransports }>('@ledgerhq/hw-transport-node-hid-noevents')
  const [path] = await asked(() => hid.list())
  if (path === undefined) throw new ConfigError('no Ledger is connected by USB')
  return asked(() => hid.open(path))
}

/** Opens the Ethereum application behind a transport. */
export function ledgerOn(transport: LedgerTransport): Ledger {
  const { default: Eth } = load<{ default: new (transport: LedgerTransport) => Ledger }>('@ledgerhq/hw-app-eth')
  return new Eth(transport)
}

/**
 * Reads the key that a Ledger has at a path.
 * @param showsAddress whether it shows its address, and waits until a person agrees
 */
export async function ledgerKey(ledger: Ledger, hdPath: string, showsAddress = false): Promise<SingleKey> {
  const { publicKey } = await asked(() => ledger.getAddress(pathOf(hdPath), showsAddress))
  const key = singleKey('ethSecp256k1', compressPublicKey(hexToBytes(`0x${publicKey}`).subarray(1)))
  if (isSdkError(key)) throw new ConfigError(`the Ledger returned no valid key: ${key.message}`)
  return key
}

/** Signs typed data (EIP-712): r and s, 64 bytes. The Ledger shows the two hashes. */
export async function signTypedData(
  ledger: Ledger,
  hdPath: string,
  { domain, message }: TypedDataHashes,
): Promise<Uint8Array> {
  const [domainHex, messageHex] = [domain, message].map((hash) => bytesToHex(hash).slice(2)) as [string, string]
  return joined(await asked(() => ledger.signEIP712HashedMessage(pathOf(hdPath), domainHex, messageHex)))
}

/** Signs an unsigned Ethereum transaction: r and s, 64 bytes. The Ledger shows the transaction. */
export async function signEthereumOn(ledger: Ledger, hdPath: string, unsigned: Uint8Array): Promise<Uint8Array> {
  return joined(await asked(() => ledger.signTransaction(pathOf(hdPath), bytesToHex(unsigned).slice(2), null)))
}

function joined({ r, s }: LedgerSignature): Uint8Array {
  return concatBytes(hexToBytes(`0x${r}`), hexToBytes(`0x${s}`))
}

function pathOf(hdPath: string): string {
  return hdPath.replace(/^m\//, '')
}

/** Advice by the status word of a Ledger's answer. */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [0x6985, 'rejected on the device'],
  [0x5515, 'unlock it'],
  [0x6b0c, 'unlock it'],
  [0x6511, 'open its Ethereum application'],
  [0x6e00, 'open its Ethereum application'],
  [0x6e01, 'open its Ethereum application'],
  [0x6d00, 'open its Ethereum application'],
  [0x6a80, 'allow blind signing in the settings of its Ethereum application'],
])

/** @throws ConfigError with what a person can do, when the Ledger does not answer or refuses */
async function asked<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    const { message, statusCode, name } = error as Error & { readonly statusCode?: number }
    const advice = statusCode === undefined ? undefined : ADVICE.get(statusCode)
    throw new ConfigError(`the Ledger failed: ${advice ?? (message === '' ? name : message)}`, { cause: error })
  }
}
