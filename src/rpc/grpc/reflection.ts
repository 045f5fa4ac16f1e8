import { type FileRegistry, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import {
  bytes,
  defineMessage,
  type Field,
  int32,
  type MessageType,
  message,
  oneOf,
  repeated,
  string,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { GRPC_CODES } from '../native/queryError.ts'
import type { DescribedMethod } from './descriptors.ts'

/** What a client of reflection asks, and what it is told. */
interface ReflectionMessages {
  readonly request: ReturnType<typeof requestOf>
  readonly response: ReturnType<typeof responseOf>
}

/** A version of gRPC's reflection: both have the same messages. */
type Reflection = ReflectionMessages & Pick<DescribedMethod, 'path' | 'streams'>

const choice = (field: Field<string>): Field<string | undefined> => ({ ...field, presence: 'oneof', zero: undefined })

function requestOf(base: string) {
  const ExtensionRequest = defineMessage(`${base}.ExtensionRequest`, {
    containingType: string(1),
    extensionNumber: int32(2),
  })
  return defineMessage(`${base}.ServerReflectionRequest`, {
    host: string(1),
    fileByFilename: choice(string(3)),
    fileContainingSymbol: choice(string(4)),
    fileContainingExtension: oneOf(5, () => ExtensionRequest),
    allExtensionNumbersOfType: choice(string(6)),
    listServices: choice(string(7)),
  })
}

function responseOf<Request>(base: string, request: MessageType<Request>) {
  const named = <const F extends Parameters<typeof defineMessage>[1]>(name: string, fields: F) =>
    defineMessage(`${base}.${name}`, fields)
  const ServiceResponse = named('ServiceResponse', { name: string(1) })
  const FileDescriptorResponse = named('FileDescriptorResponse', { fileDescriptorProto: repeated(bytes(1)) })
  const ExtensionNumberResponse = named('ExtensionNumberResponse', {
    baseTypeName: string(1),
    extensionNumber: repeated(int32(2)),
  })
  const ListServiceResponse = named('ListServiceResponse', { service: repeated(message(1, ServiceResponse)) })
  const ErrorResponse = named('ErrorResponse', { errorCode: int32(1), errorMessage: string(2) })
  return named('ServerReflectionResponse', {
    validHost: string(1),
    originalRequest: message(2, request),
    fileDescriptorResponse: oneOf(4, () => FileDescriptorResponse),
    allExtensionNumbersResponse: oneOf(5, () => ExtensionNumberResponse),
    listServicesResponse: oneOf(6, () => ListServiceResponse),
    errorResponse: oneOf(7, () => ErrorResponse),
  })
}

/** gRPC server reflection, version 1 and the one before it (grpc/grpc, src/proto/grpc/reflection). */
export const REFLECTIONS: readonly Reflection[] = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'].map((base) => {
  const request = requestOf(base)
  const response = responseOf(base, request)
  return { path: `/${base}.ServerReflection/ServerReflectionInfo`, request, response, streams: true }
})

type Request = ValueOf<ReflectionMessages['request']>
type Response = Partial<ValueOf<ReflectionMessages['response']>>

/** Answers one message after the other about `files`. */
export async function* reflect(
  files: FileRegistry,
  { request, response }: ReflectionMessages,
  [input, output]: readonly [Parameters<typeof toBinary>[0], Parameters<typeof fromBinary>[0]],
  messages: AsyncIterable<Message>,
): AsyncIterable<Message> {
  for await (const asked of messages) {
    const originalRequest = request.decode(toBinary(input, asked))
    const answer = { validHost: originalRequest.host, originalRequest, ...answerTo(files, originalRequest) }
    yield fromBinary(output, response.encode(response.create(answer)))
  }
}

function answerTo(files: FileRegistry, request: Request): Response {
  const { fileByFilename, fileContainingSymbol, allExtensionNumbersOfType, listServices } = request
  if (listServices !== undefined) {
    const services = [...files].filter(({ kind }) => kind === 'service').map(({ typeName: name }) => ({ name }))
    return { listServicesResponse: { service: services } }
  }
  // Files are found with the ending or without, as their names come in `dependency`.
  if (fileByFilename !== undefined) return fileResponse(files, fileByFilename.replace(/\.proto$/, ''))
  if (fileContainingSymbol !== undefined) return fileResponse(files, fileOfSymbol(files, fileContainingSymbol))
  if (allExtensionNumbersOfType !== undefined) {
    return { allExtensionNumbersResponse: { baseTypeName: allExtensionNumbersOfType, extensionNumber: [] } }
  }
  return notFound('there are no extensions')
}

/** Of a service, message or enum, or of a member of one. */
function fileOfSymbol(files: FileRegistry, symbol: string): string | undefined {
  for (let name = symbol; name.includes('.'); name = name.slice(0, name.lastIndexOf('.'))) {
    const found = files.get(name)
    if (found !== undefined && found.kind !== 'extension') return found.file.name
  }
  return undefined
}

/** The file with all that it imports, so that clients need not ask for each. */
function fileResponse(files: FileRegistry, name: string | undefined): Response {
  const file = name === undefined ? undefined : files.getFile(`${name}.proto`)
  if (file === undefined) return notFound('there is no such file or symbol')
  const all = new Map([[file.name, file]])
  for (const known of all.values()) for (const imported of known.dependencies) all.set(imported.name, imported)
  const fileDescriptorProto = [...all.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto))
  return { fileDescriptorResponse: { fileDescriptorProto } }
}

function notFound(errorMessage: string): Response {
  return { errorResponse: { errorCode: GRPC_CODES.notFound, errorMessage } }
}
