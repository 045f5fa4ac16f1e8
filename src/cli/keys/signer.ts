import type { Command } from 'commander'
import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { publicKeyToAny, type SingleKey } from '../../modules/tx/publicKey.ts'
import type { SignDocuments } from '../../modules/tx/signDocuments.ts'
import { keyOf, signBytesWith } from '../../modules/tx/signTransaction.ts'
import { SIGN_MODES } from '../../modules/tx/types.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { Terminal } from '../ports.ts'
import {
  givenPrivateKey,
  type KeystoreOptions,
  keystoreDirectory,
  readPassword,
  type SecretOptions,
  sourceOf,
} from './keyOptions.ts'
import { type Keystore, openKeystore, publicKeyIn, type StoredKey } from './keystore.ts'
import { ledgerKey, ledgerOn, signEthereumOn, signTypedData } from './ledger.ts'

/** A key that signs: of the keystore, from a file or the environment, or on a Ledger. */
export interface Signer {
  readonly key: SingleKey
  /** sign modes that it has, the preferred first */
  readonly modes: readonly number[]
  /**
   * The signature, 64 bytes, over what a transaction's documents say in one of these modes.
   * @throws ConfigError when the documents have no such form
   */
  sign(documents: SignDocuments, mode: number, sequence: bigint): Promise<Uint8Array>
  /** The signature, 64 bytes, of an unsigned Ethereum transaction. */
  signEthereum(unsigned: Uint8Array): Promise<Uint8Array>
}

/** Sender of a transaction. */
export interface Sender {
  readonly address: Address
  /** undefined when only the address is known */
  readonly publicKey: AnyValue | undefined
}

export interface SignerOptions extends KeystoreOptions, SecretOptions {
  readonly from?: string
}

export function addFromOption(command: Command): Command {
  return command.addOption(
    new Option('--from <key>', 'name or address of the key in the keystore (not needed with a key from a file)'),
  )
}

/**
 * Opens the key that `--from` names, or that a file or the environment holds. It asks for a password, and looks for a Ledger.
 * @throws ConfigError when there is no such key, or it cannot sign
 */
export async function openSigner(options: SignerOptions, terminal: Terminal): Promise<Signer> {
  const keystore = openKeystore(keystoreDirectory(options, terminal))
  const given = await givenPrivateKey(options, terminal)
  if (given !== undefined) {
    const signer = localSigner(given)
    if (options.from !== undefined && !equalBytes(keystore.addressOf(options.from), signer.key.address)) {
      throw new ConfigError(
        `${sourceOf(options)} holds the key of ${toBech32(signer.key.address)}, not of ${options.from}: leave out one of them`,
      )
    }
    return signer
  }
  const key = keystore.find(nameOf(options, keystore))
  if (key.kind === 'ledger') return ledgerSigner(key, terminal)
  return localSigner(await openSecret(keystore, key, options, terminal))
}

/**
 * Returns the sender of a transaction that others will sign: the named account, else the owner of
 * the given key. No secret is needed.
 * @throws ConfigError when nothing says it
 */
export async function readSender(options: SignerOptions, terminal: Terminal): Promise<Sender> {
  const keystore = openKeystore(keystoreDirectory(options, terminal))
  const given = options.from === undefined ? await givenPrivateKey(options, terminal) : undefined
  if (given !== undefined) return senderOf(localSigner(given))
  const name = nameOf(options, keystore)
  const address = keystore.addressOf(name)
  return { address, publicKey: keystore.list().find((key) => equalBytes(key.address, address))?.publicKey }
}

export function senderOf({ key }: Signer): Sender {
  return { address: key.address, publicKey: publicKeyToAny(key) }
}

/** Reads the secret of a key, 32 bytes. */
export async function openSecret(
  keystore: Keystore,
  key: StoredKey,
  options: KeystoreOptions,
  terminal: Terminal,
): Promise<Uint8Array> {
  // What has no secret needs no password to say so.
  keystore.encrypted(key)
  return keystore.open(key, await readPassword(options, key.name, terminal))
}

function nameOf({ from }: SignerOptions, keystore: Keystore): string {
  if (from !== undefined) return from
  throw new ConfigError(`no signer: give --from with a key of ${keystore.directory}, or --private-key-file`)
}

/** Returns a signer with a secret of 32 bytes. */
export function localSigner(privateKey: Uint8Array): Signer {
  return {
    key: keyOf({ privateKey }),
    modes: [SIGN_MODES.SIGN_MODE_DIRECT, SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON],
    sign: async (documents, mode, sequence) => {
      const bytes = documents.bytes(mode, sequence)
      if (isSdkError(bytes)) throw new ConfigError(`the transaction cannot be signed: ${bytes.message}`)
      return signBytesWith({ privateKey }, bytes)
    },
    signEthereum: async (unsigned) => signBytesWith({ privateKey }, unsigned),
  }
}

/** Returns a signer on a Ledger, which shows and signs the typed data of a transaction (EIP-712), as in cosmos/evm. */
async function ledgerSigner(stored: StoredKey, terminal: Pick<Terminal, 'openLedger'>): Promise<Signer> {
  const key = publicKeyIn(stored.publicKey!) as SingleKey
  const path = stored.hdPath!
  const ledger = ledgerOn(await terminal.openLedger())
  const found = await ledgerKey(ledger, path)
  if (!equalBytes(found.address, key.address)) {
    throw new ConfigError(
      `the Ledger has ${toBech32(found.address)} at ${path}, not ${stored.name}: connect the Ledger of that key`,
    )
  }
  return {
    key,
    modes: [SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON],
    sign: async (documents, mode, sequence) => {
      const [typedData] = documents.typedData(mode, sequence)
      if (typedData !== undefined) return signTypedData(ledger, path, typedData)
      throw new ConfigError(
        'a Ledger cannot sign this transaction: typed data (EIP-712) cannot have a timeout height, fee payer or granter, or ' +
          'messages of several signers, and is limited to 16 KiB',
      )
    },
    signEthereum: (unsigned) => signEthereumOn(ledger, path, unsigned),
  }
}
