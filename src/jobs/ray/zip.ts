/** A file of an archive. */
export interface ZipEntry {
  /** Path in ASCII. */
  readonly name: string;
  readonly content: Buffer;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
/** The version of the format with folders. */
const VERSION = 20;
/** Midnight of 1 January 1980: equal files make equal archives. */
const DATE = 0x21;
/** An ordinary file that all users may read, made on Unix. */
const MADE_ON_UNIX = (3 << 8) | VERSION;
const MODE = (0o100644 << 16) >>> 0;

/** A zip archive of small files, which are stored as they are. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of entries) {
    const path = Buffer.from(name, "ascii");
    // Version, flags, method, time, date, checksum, sizes, length of the name, length of the extra field.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    files.push(uint32(LOCAL_HEADER), common, path, content);
    // Length of the comment, disk, internal and external attributes, offset.
    const place = Buffer.alloc(14);
    place.writeUInt32LE(MODE, 6);
    place.writeUInt32LE(offset, 10);
    directory.push(uint32(CENTRAL_HEADER), uint16(MADE_ON_UNIX), common, place, path);
    offset += 4 + common.length + path.length + content.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, central, uint32(END_OF_DIRECTORY), end]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** CRC-32, bit by bit. Node has it only since 22.2, and the files are small. */
function crc32(content: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of content) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
