import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { type SignatureDescriptor, SignatureDescriptors, Tx } from '../../modules/tx/types.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { type Json, JsonFormError } from '../../primitives/protoScalars.ts'
import type { MessageType } from '../../primitives/protoSchema.ts'
import { JSON_TYPES_OF_ANY } from '../../rpc/cosmos/anyTypes.ts'
import { formatYaml, type OutputOption } from '../output.ts'
import type { Terminal } from '../ports.ts'
import { readJsonFile } from './txCommand.ts'

/*
 * Files of transactions and of signatures, as the Cosmos SDK's programs write them: the JSON of cosmos.tx.v1beta1.Tx and of
 * cosmos.tx.signing.v1beta1.SignatureDescriptors on one line.
 */

export interface DocumentOptions extends OutputOption {
  readonly outputDocument?: string
}

export function addDocumentOption(command: Command): Command {
  return command.addOption(new Option('--output-document <file>', 'write the output to a file instead of the terminal'))
}

/** Reads the transaction in a file. @param path `-` is the standard input. @throws ConfigError when it holds none */
export function readTx(path: string, terminal: Pick<Terminal, 'workingDirectory'>): Tx {
  const tx = readDocument(Tx, path, terminal, withoutYoungerMembers)
  if (tx.body !== undefined && tx.authInfo?.fee !== undefined) return tx
  throw new ConfigError(`${path} does not hold a transaction: it must have body, and auth_info with a fee`)
}

/** Members of a transaction that SDK 0.53 and later also write. Where one has another value, coind cannot read it. */
const YOUNGER_MEMBERS: Readonly<Record<string, Json>> = { unordered: false, timeout_timestamp: null }

/** Removes members of a transaction's body that do not exist here, where they have their default value. */
function withoutYoungerMembers(json: Json): Json {
  const tx = json as { readonly body?: Readonly<Record<string, Json>> } | null
  if (typeof tx?.body !== 'object' || tx.body === null) return json
  const members = Object.entries(tx.body).filter(
    ([name, value]) => !(Object.hasOwn(YOUNGER_MEMBERS, name) && YOUNGER_MEMBERS[name] === value),
  )
  return { ...tx, body: Object.fromEntries(members) }
}

/** Reads the signatures in a file. @throws ConfigError when it holds none */
export function readSignatures(
  path: string,
  terminal: Pick<Terminal, 'workingDirectory'>,
): readonly SignatureDescriptor[] {
  return readDocument(SignatureDescriptors, path, terminal).signatures
}

/** Decodes a transaction. @throws ConfigError when the bytes are not a transaction */
export function decodeTxBytes(raw: Uint8Array): Tx {
  try {
    return Tx.decode(raw)
  } catch (error) {
    if (error instanceof ProtobufError) throw new ConfigError(`the bytes are not a transaction: ${error.message}`)
    throw error
  }
}

export function writeTx(tx: Tx, options: DocumentOptions, terminal: Terminal): void {
  writeDocument(Tx.toJson(tx, JSON_TYPES_OF_ANY), options, terminal)
}

export function writeSignature(signature: SignatureDescriptor, options: DocumentOptions, terminal: Terminal): void {
  const json = SignatureDescriptors.toJson({ signatures: [signature] }, JSON_TYPES_OF_ANY)
  writeDocument(json, options, terminal)
}

function writeDocument(json: Json, { output, outputDocument }: DocumentOptions, terminal: Terminal): void {
  const text = output === 'text' ? formatYaml(json) : `${JSON.stringify(json)}\n`
  if (outputDocument === undefined) terminal.print(text)
  else writeFileSync(resolve(terminal.workingDirectory, outputDocument), text)
}

function readDocument<T>(
  type: MessageType<T>,
  path: string,
  terminal: Pick<Terminal, 'workingDirectory'>,
  prepare: (json: Json) => Json = (json) => json,
): T {
  const json = readJsonFile(path === '-' ? '/dev/stdin' : path, terminal) as Json
  try {
    return type.fromJson(prepare(json), JSON_TYPES_OF_ANY)
  } catch (error) {
    if (error instanceof JsonFormError) throw new ConfigError(`${path}: ${error.message}`)
    throw error
  }
}
