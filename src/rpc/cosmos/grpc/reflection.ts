import {
  type DescExtension,
  type DescFile,
  type FileRegistry,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { GRPC_CODES } from '../../../modules/query/queryError.ts'
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
} from '../../../primitives/protoSchema.ts'
import type { DescribedMethod } from './descriptors.ts'

/** The request and the response of a reflection service. */
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

/** The services and files that reflection reports. */
export interface Reflected {
  readonly files: FileRegistry
  /** the services that the node has, of all in the files */
  readonly services: readonly string[]
}

/** Answers one message after the other. @param onAnswer hears of the bytes of each before it is sent */
export async function* reflect(
  reflected: Reflected,
  { request, response }: ReflectionMessages,
  [input, output]: readonly [Parameters<typeof toBinary>[0], Parameters<typeof fromBinary>[0]],
  messages: AsyncIterable<Message>,
  onAnswer: (bytes: number) => void,
): AsyncIterable<Message> {
  const sent = new Set<DescFile>()
  for await (const asked of messages) {
    const originalRequest = request.decode(toBinary(input, asked))
    const answer = { validHost: originalRequest.host, originalRequest, ...answerTo(reflected, originalRequest, sent) }
    const bytes = response.encode(response.create(answer))
    onAnswer(bytes.length)
    yield fromBinary(output, bytes)
  }
}

function answerTo({ files, services }: Reflected, request: Request, sent: Set<DescFile>): Response {
  const { fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType, listServices } =
    request
  if (listServices !== undefined) return { listServicesResponse: { service: services.map((name) => ({ name })) } }
  // Files are found with the ending or without, as their names come in `dependency`.
  if (fileByFilename !== undefined) {
    return fileResponse(files.getFile(`${fileByFilename.replace(/\.proto$/, '')}.proto`), sent)
  }
  if (fileContainingSymbol !== undefined) return fileResponse(fileOfSymbol(files, fileContainingSymbol), sent)
  if (fileContainingExtension !== undefined) {
    const { containingType, extensionNumber } = fileContainingExtension
    return fileResponse(
      extensionsOf(files, containingType).find(({ number }) => number === extensionNumber)?.file,
      sent,
    )
  }
  if (allExtensionNumbersOfType === undefined) return notFound('nothing is asked for')
  const extensionNumber = extensionsOf(files, allExtensionNumbersOfType).map(({ number }) => number)
  if (extensionNumber.length === 0 && files.getMessage(allExtensionNumbersOfType) === undefined) return NO_SUCH_THING
  return { allExtensionNumbersResponse: { baseTypeName: allExtensionNumbersOfType, extensionNumber } }
}

function extensionsOf(files: FileRegistry, message: string): DescExtension[] {
  return [...files]
    .filter((found) => found.kind === 'extension')
    .filter(({ extendee }) => extendee.typeName === message)
}

/** Of a service, message or enum, or of a member of one. */
function fileOfSymbol(files: FileRegistry, symbol: string): DescFile | undefined {
  for (let name = symbol; name.includes('.'); name = name.slice(0, name.lastIndexOf('.'))) {
    const found = files.get(name)
    if (found !== undefined) return found.file
  }
  return undefined
}

/** The file with all that it imports, so that clients need not ask for each; without those that this stream has told. */
function fileResponse(file: DescFile | undefined, sent: Set<DescFile>): Response {
  if (file === undefined) return NO_SUCH_THING
  const all = new Set([file])
  for (const known of all) for (const imported of known.dependencies) if (!sent.has(imported)) all.add(imported)
  for (const told of all) sent.add(told)
  return { fileDescriptorResponse: { fileDescriptorProto: [...all].map(encoded) } }
}

const ENCODED = new WeakMap<DescFile, Uint8Array>()

/** Once for all clients. */
function encoded(file: DescFile): Uint8Array {
  const known = ENCODED.get(file)
  if (known !== undefined) return known
  const bytes = toBinary(FileDescriptorProtoSchema, file.proto)
  ENCODED.set(file, bytes)
  return bytes
}

function notFound(errorMessage: string): Response {
  return { errorResponse: { errorCode: GRPC_CODES.notFound, errorMessage } }
}

const NO_SUCH_THING = notFound('there is no such file or symbol')
