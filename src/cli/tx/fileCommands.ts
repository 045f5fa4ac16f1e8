import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { MESSAGES } from '../../modules/messages.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { decodeNativeTransaction } from '../../modules/tx/decodeNativeTransaction.ts'
import { hasAddress } from '../../modules/tx/publicKey.ts'
import { Tx } from '../../modules/tx/types.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { addKeystoreOptions, addSecretOptions, type KeystoreOptions, keystoreDirectory } from '../keys/keyOptions.ts'
import { openKeystore, publicKeyIn } from '../keys/keystore.ts'
import { addFromOption, openSigner, type SignerOptions } from '../keys/signer.ts'
import { addNodeOption, connectNode } from '../nodeClient.ts'
import { addOutputOption, formatAnswer } from '../output.ts'
import type { Terminal } from '../ports.ts'
import { networkOf, send, sequenceOf } from './sendTransaction.ts'
import { signEthereum } from './signEthereum.ts'
import { combineSignatures, decodeTx, listOf, makeSignature, signingChainOf, withSignature } from './signTx.ts'
import {
  addDocumentOption,
  type DocumentOptions,
  decodeTxBytes,
  readSignatures,
  readTx,
  writeSignature,
  writeTx,
} from './txFile.ts'
import {
  addBroadcastOptions,
  addSigningOptions,
  type BroadcastOptions,
  clientOf,
  type SigningOptions,
  signModeOf,
} from './txOptions.ts'
import { TransactionFailed } from './waitForBlock.ts'

/*
 * The commands of `coind tx` that work on transactions that are there already, as in the Cosmos SDK's programs: sign and multisign, broadcast,
 * encode and decode, validate-signatures.
 */

const TX_FILE = [
  '<file>',
  'file with the transaction in JSON, as printed by --generate-only; - for standard input',
] as const

export function addFileCommands(root: Command, terminal: Terminal): void {
  addSign(root, terminal)
  addMultisign(root, terminal)
  addValidateSignatures(root, terminal)
  addBroadcast(root, terminal)
  addEncode(root, terminal)
  addDecode(root, terminal)
  addSignEthereum(root, terminal)
}

interface SignOptions extends SigningOptions, SignerOptions, DocumentOptions {
  readonly signatureOnly?: true
  readonly multisig?: string
  readonly overwrite?: true
}

function addSign(root: Command, terminal: Terminal): void {
  const command = root
    .command('sign')
    .description('Sign a transaction built with --generate-only')
    .argument(...TX_FILE)
    .option('--signature-only', 'print only the signature')
    .option('--multisig <key>', 'name or address of the multisig to sign for; prints only the signature')
    .option('--overwrite', 'remove existing signatures of the transaction')
  const keyed = addFromOption(addSecretOptions(addKeystoreOptions(addNodeOption(command))))
  addOutputOption(addDocumentOption(addSigningOptions(keyed))).action(async (file: string, options: SignOptions) => {
    const given = readTx(file, terminal)
    const tx: Tx =
      options.overwrite === true
        ? { ...given, authInfo: { ...given.authInfo!, signerInfos: [] }, signatures: [] }
        : given
    const signer = await openSigner(options, terminal)
    const account =
      options.multisig === undefined
        ? signer.key.address
        : openKeystore(keystoreDirectory(options, terminal)).addressOf(options.multisig)
    const terms = { ...(await termsOf(account, options, terminal)), mode: signModeOf(options) }
    const signature = await makeSignature(tx, account, signer, terms)
    const isAlone = options.signatureOnly === true || options.multisig !== undefined
    if (isAlone) writeSignature(signature, options, terminal)
    else writeTx(withSignature(tx, account, signature), options, terminal)
  })
}

interface MultisignOptions extends SigningOptions, KeystoreOptions, DocumentOptions {
  readonly signatureOnly?: true
}

function addMultisign(root: Command, terminal: Terminal): void {
  const command = root
    .command('multisign')
    .alias('multi-sign')
    .description('Combine the signatures of the members of a multisig')
    .argument(...TX_FILE)
    .argument('<key>', 'name of the multisig in the keystore')
    .argument('<signatures...>', 'files written by tx sign --multisig')
    .option('--signature-only', 'print only the signature')
  addOutputOption(addDocumentOption(addSigningOptions(addKeystoreOptions(addNodeOption(command))))).action(
    async (file: string, name: string, files: readonly string[], options: MultisignOptions) => {
      const tx = readTx(file, terminal)
      const { publicKey } = openKeystore(keystoreDirectory(options, terminal)).find(name)
      const multisig = publicKey && publicKeyIn(publicKey)
      if (publicKey === undefined || multisig?.kind !== 'multisig') throw new ConfigError(`${name} is not a multisig`)
      const { signers } = decodeTx(tx)
      const account = signers.find((address) => hasAddress(multisig, address))
      if (account === undefined) {
        throw new ConfigError(`the transaction must be signed by ${listOf(signers)}, not by ${name}`)
      }
      const signatures = files.flatMap((path) => readSignatures(path, terminal))
      const terms = await termsOf(account, options, terminal)
      const signature = combineSignatures(tx, { multisig, publicKey }, signatures, terms)
      if (options.signatureOnly === true) writeSignature(signature, options, terminal)
      else writeTx(withSignature(tx, account, signature), options, terminal)
    },
  )
}

async function termsOf(
  account: Address,
  options: SigningOptions,
  terminal: Terminal,
): Promise<{ readonly chainId: string; readonly sequence: bigint }> {
  const client = clientOf(options, terminal)
  return {
    chainId: options.chainId ?? (await networkOf(client)),
    sequence: options.sequence ?? (await sequenceOf(account, client)),
  }
}

function addValidateSignatures(root: Command, terminal: Terminal): void {
  const command = root
    .command('validate-signatures')
    .description('Check the signatures of a transaction, and with a node also their sequences')
    .argument(...TX_FILE)
    .option('--chain-id <id>', "chain that it was signed for (default: the node's)")
    .option('--offline', 'query no node: does not check sequences, and requires --chain-id')
  addNodeOption(command).action(async (file: string, options: SigningOptions) => {
    const tx = readTx(file, terminal)
    const client = clientOf(options, terminal)
    const chain = signingChainOf(options.chainId ?? (await networkOf(client)))
    const { signers } = decodeTx(tx)
    terminal.print(`Signers: ${listOf(signers)}\n`)
    const decoded = decodeNativeTransaction(Tx.encode(tx), { ...chain, messages: MESSAGES })
    if (isSdkError(decoded)) throw new TransactionFailed(`the signatures are not valid: ${decoded.message}`)
    for (const { address, sequence } of options.offline === true ? [] : decoded.signers) {
      const next = await sequenceOf(address, client)
      if (sequence === next) continue
      throw new TransactionFailed(`${toBech32(address)} signed for sequence ${sequence}, but the next one is ${next}`)
    }
    terminal.print('All signatures are valid\n')
  })
}

function addBroadcast(root: Command, terminal: Terminal): void {
  const command = root
    .command('broadcast')
    .description('Send a signed transaction')
    .argument(
      '<transaction>',
      'file with a native transaction in JSON (- for standard input), or hex digits of a native or EVM transaction',
    )
  addOutputOption(addBroadcastOptions(addNodeOption(command))).action(
    async (transaction: string, options: BroadcastOptions) => {
      const raw = hexBytes(transaction) ?? Tx.encode(readTx(transaction, terminal))
      const answer = await send(raw, options.broadcastMode!, connectNode(options, terminal), terminal.now)
      terminal.print(formatAnswer(answer, options))
    },
  )
}

function addEncode(root: Command, terminal: Terminal): void {
  root
    .command('encode')
    .description('Print a transaction as base64, or as hex digits')
    .argument(...TX_FILE)
    .option('-x, --hex', 'print hex digits')
    .action((file: string, { hex }: { readonly hex?: true }) => {
      const raw = Tx.encode(readTx(file, terminal))
      terminal.print(`${hex === true ? bytesToHex(raw) : Buffer.from(raw).toString('base64')}\n`)
    })
}

function addDecode(root: Command, terminal: Terminal): void {
  const command = root
    .command('decode')
    .description('Print a transaction as JSON')
    .argument('<bytes>', 'base64, or hex digits')
    .addOption(new Option('-x, --hex', 'the bytes are hex digits'))
  addOutputOption(addDocumentOption(command)).action(
    (text: string, options: DocumentOptions & { readonly hex?: true }) => {
      writeTx(decodeTxBytes(readBytes(text, options.hex === true)), options, terminal)
    },
  )
}

function addSignEthereum(root: Command, terminal: Terminal): void {
  const command = root
    .command('sign-ethereum')
    .description('Sign an Ethereum transaction, and print it for tx broadcast or eth_sendRawTransaction')
    .argument('<hex>', 'unsigned transaction, as serialized by Ethereum libraries')
  addFromOption(addSecretOptions(addKeystoreOptions(command))).action(async (hex: string, options: SignerOptions) => {
    const unsigned = readBytes(hex, true)
    terminal.print(`${bytesToHex(await signEthereum(unsigned, await openSigner(options, terminal)))}\n`)
  })
}

/** @throws ConfigError when it is neither base64 nor hex digits */
function readBytes(text: string, isHex: boolean): Uint8Array {
  if (isHex || text.startsWith('0x')) {
    const bytes = hexBytes(text)
    if (bytes === undefined) throw new ConfigError('the transaction must be given as hex digits')
    return bytes
  }
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length > 0 && bytes.toString('base64') === text) return bytes
  throw new ConfigError('the transaction must be given as base64, or as hex digits with 0x or --hex')
}

/** Reads hex with or without 0x; undefined when the text is anything else. */
function hexBytes(text: string): Uint8Array | undefined {
  const digits = /^(?:0x)?((?:[0-9a-fA-F]{2})+)$/.exec(text)?.[1]
  return digits === undefined ? undefined : Buffer.from(digits, 'hex')
}
