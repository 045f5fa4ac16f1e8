import { create, createFileRegistry, type FileRegistry, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type DescriptorProtoSchema,
  type EnumDescriptorProtoSchema,
  type FieldDescriptorProto_Label,
  type FieldDescriptorProto_Type,
  type FieldDescriptorProtoSchema,
  type FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_timestamp,
} from '@bufbuild/protobuf/wkt'
import type { AnyMessageType, ProtoType, ValueCodec } from '../../../primitives/protoScalars.ts'

type FileInit = MessageInitShape<typeof FileDescriptorProtoSchema>
type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>
type EnumInit = MessageInitShape<typeof EnumDescriptorProtoSchema>
type FieldInit = MessageInitShape<typeof FieldDescriptorProtoSchema>

/** google.protobuf.FieldDescriptorProto.Type and Label */
const FIELD_TYPES = { int64: 3, uint64: 4, int32: 5, bool: 8, string: 9, bytes: 12, uint32: 13 } as const
const MESSAGE: FieldDescriptorProto_Type = 11
const ENUM: FieldDescriptorProto_Type = 14
const LABELS: { readonly optional: FieldDescriptorProto_Label; readonly repeated: FieldDescriptorProto_Label } = {
  optional: 1,
  repeated: 3,
}

const WELL_KNOWN_FILES = [file_google_protobuf_any, file_google_protobuf_duration, file_google_protobuf_timestamp]
const WELL_KNOWN: ReadonlyMap<string, string> = new Map(
  WELL_KNOWN_FILES.flatMap(({ proto }) =>
    proto.messageType.map(({ name }) => [`${proto.package}.${name}`, proto.name] as const),
  ),
)

/** A method that gRPC clients call. */
export interface DescribedMethod {
  /** e.g. `/cosmos.bank.v1beta1.Query/Balance` */
  readonly path: string
  readonly request: AnyMessageType
  readonly response: AnyMessageType
  /** both sides send any number of messages */
  readonly streams?: boolean
}

/**
 * The methods as services in protobuf's own terms: what gRPC calls them by. Made from the tables that
 * encode the messages, so that both are the same; a file has the messages and services of a package.
 * @param types further messages that answers may hold in an Any
 * @throws Error (a bug) for messages that are declared twice in different ways
 */
export function describeMethods(methods: Iterable<DescribedMethod>, types: Iterable<AnyMessageType>): FileRegistry {
  const packages = new Map<string, PackageFile>()
  const fileOf = (name: string): PackageFile => {
    const file = packages.get(name) ?? new PackageFile(name)
    packages.set(name, file)
    return file
  }
  const known = new Set<string>()
  const addMessage = (type: AnyMessageType): string => {
    const fullName = type.typeUrl.slice(1)
    const [packageName, name] = splitName(fullName)
    if (known.has(fullName)) return packageName
    known.add(fullName)
    const file = fileOf(packageName)
    const { message, referenced } = describeMessage(name, fullName, type)
    file.messages.set(name, message)
    for (const inner of referenced) {
      const dependency = typeof inner === 'string' ? WELL_KNOWN.get(inner)! : fileName(addMessage(inner))
      if (dependency !== file.name) file.dependencies.add(dependency)
    }
    return packageName
  }
  for (const type of types) addMessage(type)
  for (const { path, request, response, streams = false } of methods) {
    const [, serviceName = '', method = ''] = path.split('/')
    const [packageName, service] = splitName(serviceName)
    const file = fileOf(packageName)
    for (const type of [request, response]) {
      const dependency = fileName(addMessage(type))
      if (dependency !== file.name) file.dependencies.add(dependency)
    }
    file.method(service, {
      name: method,
      inputType: nameOf(request),
      outputType: nameOf(response),
      clientStreaming: streams,
      serverStreaming: streams,
    })
  }
  const own = [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map((file) => file.init())
  return createFileRegistry(
    create(FileDescriptorSetSchema, { file: [...WELL_KNOWN_FILES.map(({ proto }) => proto), ...inOrder(own)] }),
  )
}

interface MethodInit {
  readonly name: string
  readonly inputType: string
  readonly outputType: string
  readonly clientStreaming: boolean
  readonly serverStreaming: boolean
}

/** The file of a package that is being described. */
class PackageFile {
  readonly name: string
  /** by name; that of a message in another one is `Outer.Inner` */
  readonly messages = new Map<string, MessageInit>()
  readonly dependencies = new Set<string>()
  readonly #package: string
  readonly #services = new Map<string, MethodInit[]>()

  constructor(packageName: string) {
    this.#package = packageName
    this.name = fileName(packageName)
  }

  method(service: string, method: MethodInit): void {
    this.#services.set(service, [...(this.#services.get(service) ?? []), method])
  }

  /** Returns the messages inside `outer`, by default those at the top, with the messages that they contain. */
  #nested(outer = ''): MessageInit[] {
    const inside = [...this.messages].filter(([name]) => name.slice(0, Math.max(0, name.lastIndexOf('.'))) === outer)
    return inside.map(([path, message]) => ({ ...message, nestedType: this.#nested(path) }) as MessageInit)
  }

  init(): FileInit & { readonly name: string; readonly dependency: string[] } {
    return {
      name: this.name,
      package: this.#package,
      syntax: 'proto3',
      dependency: [...this.dependencies].sort(),
      messageType: this.#nested(),
      service: [...this.#services].map(([name, method]) => ({ name, method })),
    }
  }
}

/** Files after those that they import. */
function inOrder<F extends { readonly name: string; readonly dependency: string[] }>(files: readonly F[]): F[] {
  const byName = new Map(files.map((file) => [file.name, file]))
  const out = new Set<F>()
  const visit = (file: F, importers: readonly string[]): void => {
    if (importers.includes(file.name)) throw new Error(`${[...importers, file.name].join(' imports ')}`)
    for (const name of file.dependency) {
      const imported = byName.get(name)
      if (imported !== undefined && !out.has(imported)) visit(imported, [...importers, file.name])
    }
    out.add(file)
  }
  for (const file of files) visit(file, [])
  return [...out]
}

function describeMessage(
  name: string,
  fullName: string,
  { fields }: AnyMessageType,
): { readonly message: MessageInit; readonly referenced: readonly (AnyMessageType | string)[] } {
  const referenced: (AnyMessageType | string)[] = []
  const enums: EnumInit[] = []
  const choices = fields.filter(({ presence }) => presence === 'oneof')
  const described = fields.map(
    ({ number, name: jsonName, jsonName: fieldName, codec, presence, protoType }): FieldInit => {
      const field: FieldInit = {
        name: fieldName,
        jsonName,
        number,
        label: presence === 'repeated' ? LABELS.repeated : LABELS.optional,
        ...(presence === 'oneof' ? { oneofIndex: 0 } : {}),
      }
      const inner = codec.messageType?.()
      if (inner !== undefined) {
        referenced.push(inner)
        return { ...field, type: MESSAGE, typeName: nameOf(inner) }
      }
      const type = protoType ?? protoTypeOf(codec, `${fullName}.${fieldName}`)
      if (typeof type === 'string') return { ...field, type: FIELD_TYPES[type] }
      if ('message' in type) {
        referenced.push(type.message)
        return { ...field, type: MESSAGE, typeName: `.${type.message}` }
      }
      const enumName = `${jsonName[0]!.toUpperCase()}${jsonName.slice(1)}`
      const value = Object.entries(type.enumeration).map(([valueName, valueNumber]) => ({
        name: valueName,
        number: valueNumber,
      }))
      // In proto3 the value that is not written comes first.
      enums.push({ name: enumName, value: value.sort((a, b) => a.number - b.number) })
      return { ...field, type: ENUM, typeName: `.${fullName}.${enumName}` }
    },
  )
  const message: MessageInit = {
    name: name.slice(name.lastIndexOf('.') + 1),
    field: described,
    enumType: enums,
    ...(choices.length > 0 ? { oneofDecl: [{ name: 'choice' }] } : {}),
  }
  return { message, referenced }
}

/** A full name begins with a dot. */
function nameOf({ typeUrl }: AnyMessageType): string {
  return `.${typeUrl.slice(1)}`
}

function protoTypeOf({ protoType }: ValueCodec<unknown>, field: string): ProtoType {
  if (protoType === undefined) throw new Error(`${field} has no type of protobuf`)
  return protoType
}

/** Names of packages are in small letters, those of messages begin with a capital one. */
function splitName(fullName: string): readonly [packageName: string, name: string] {
  const start = /\.[A-Z]/.exec(fullName)?.index ?? 0
  return [fullName.slice(0, start), fullName.slice(start + 1)]
}

function fileName(packageName: string): string {
  return `${packageName.replaceAll('.', '/')}/coind.proto`
}
