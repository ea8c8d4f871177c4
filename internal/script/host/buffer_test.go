package host

import "testing"

// The expected values are those of Node.js 20.
func TestHostBuffer(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, ``, []snippet{
		{"from", `[Buffer.from("é").length, Buffer.from("é", "latin1").length, Buffer.from("6869", "hex").toString(), Buffer.from("aGk=", "base64").toString(), Buffer.from("aGk", "base64url").toString(), Buffer.from([104, 361]).toString("hex"), Buffer.from("hi", "utf16le").toString("hex")]`, `[2,1,"hi","hi","hi","6869","68006900"]`},
		{"from leniently", `[Buffer.from("68zz69", "hex").toString(), Buffer.from("abc", "hex").length, Buffer.from(" aG\nk =xx", "base64").toString(), Buffer.from("_-8", "base64").toString("hex"), Buffer.from("a", "base64").length]`, `["h",1,"hi","ffef",0]`},
		{"from others", `{ const ab = Uint8Array.of(1, 2, 3).buffer; const b = Buffer.from(ab, 1); b[0] = 9; return [new Uint8Array(ab)[1], Buffer.from(Buffer.from("x").toJSON()).toString(), Buffer.from(new String("s")).toString(), Buffer.from(Uint16Array.of(300)).length]; }`, `[9,"x","s",1]`},
		{"from bad", `{ const out = []; for (const v of [5, null, undefined, {}, true]) try { Buffer.from(v); out.push("ok") } catch (e) { out.push(e.name + " " + e.code) } return out; }`, `["TypeError ERR_INVALID_ARG_TYPE","TypeError ERR_INVALID_ARG_TYPE","TypeError ERR_INVALID_ARG_TYPE","TypeError ERR_INVALID_ARG_TYPE","TypeError ERR_INVALID_ARG_TYPE"]`},
		{"to string", `{ const b = Buffer.from("hé😀"); return [b.toString(), b.toString("hex"), b.toString("base64"), b.toString("base64url"), b.toString("latin1"), b.toString("ascii"), b.toString("utf8", 0, 3), b.toString("UTF-8", 1)]; }`, "[\"hé😀\",\"68c3a9f09f9880\",\"aMOp8J+YgA==\",\"aMOp8J-YgA\",\"hÃ©ð\u009f\u0098\u0080\",\"hC)p\\u001f\\u0018\\u0000\",\"hé\",\"é😀\"]"},
		{"alloc", `[Buffer.alloc(3).toString("hex"), Buffer.alloc(3, 1).toString("hex"), Buffer.alloc(5, "ab").toString(), Buffer.allocUnsafe(2).length]`, `["000000","010101","ababa",2]`},
		{"concat", `[Buffer.concat([Buffer.from("a"), Uint8Array.of(98)]).toString(), Buffer.concat([Buffer.from("abc")], 2).toString(), Buffer.concat([Buffer.from("a")], 3).toString("hex"), Buffer.concat([]).length]`, `["ab","ab","610000",0]`},
		{"is", `[Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)), Buffer.alloc(1) instanceof Uint8Array, Buffer.isEncoding("UTF8"), Buffer.isEncoding("x"), Buffer.byteLength("é"), Buffer.byteLength("aGk=", "base64")]`, `[true,false,true,true,false,2,2]`},
		{"slice is a view", `{ const b = Buffer.from("abcd"); const s = b.slice(1, 3); s[0] = 120; return [b.toString(), s.toString(), b.subarray(-2).toString(), Buffer.isBuffer(s)]; }`, `["axcd","xc","cd",true]`},
		{"equals and compare", `[Buffer.from("a").equals(Uint8Array.of(97)), Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.from("b").compare(Buffer.from("a")), [Buffer.from("b"), Buffer.from("a")].sort(Buffer.compare).join()]`, `[true,-1,1,"a,b"]`},
		{"find", `{ const b = Buffer.from("hello hello"); return [b.indexOf("lo"), b.indexOf("lo", 5), b.lastIndexOf("hello"), b.includes("zz"), b.indexOf(111), b.indexOf(Buffer.from("e"))]; }`, `[3,9,6,false,4,1]`},
		{"write", `{ const b = Buffer.alloc(5); return [b.write("hi"), b.write("€€", 2), b.write("ff", 4, "hex"), b.toString("hex")]; }`, `[2,3,1,"6869e282ff"]`},
		{"copy and fill", `{ const a = Buffer.from("abc"), b = Buffer.alloc(4, "."); return [a.copy(b, 1, 1), b.toString(), b.fill("xy").toString(), b.fill(0, 1, 2).toString("hex")]; }`, `[2,".bc.","xyxy","78007879"]`},
		{"numbers", `{ const b = Buffer.alloc(8); b.writeUInt16BE(258, 0); b.writeInt32LE(-2, 2); b.writeUint8(255, 6); return [b.toString("hex"), b.readUInt16BE(0), b.readUInt16LE(0), b.readInt32LE(2), b.readUint8(6), b.readInt8(6), b.readUIntBE(0, 3), b.readIntLE(2, 4)]; }`, `["0102feffffffff00",258,513,-2,255,-1,66302,-2]`},
		{"big numbers", `{ const b = Buffer.alloc(16); b.writeBigUInt64LE(2n ** 63n, 0); b.writeDoubleBE(1.5, 8); return [String(b.readBigUInt64LE(0)), String(b.readBigInt64LE(0)), b.readDoubleBE(8)]; }`, `["9223372036854775808","-9223372036854775808",1.5]`},
		{"number out of range", `{ const out = []; for (const f of [() => Buffer.alloc(2).readUInt32LE(0), () => Buffer.alloc(2).writeUInt8(256, 0), () => Buffer.alloc(1).readUInt8(1)]) try { f(); out.push("ok") } catch (e) { out.push(e.code) } return out; }`, `["ERR_BUFFER_OUT_OF_BOUNDS","ERR_OUT_OF_RANGE","ERR_OUT_OF_RANGE"]`},
		{"json", `JSON.stringify(Buffer.from("hi"))`, `{"type":"Buffer","data":[104,105]}`},
		{"methods of arrays", `{ const b = Buffer.from([3, 1, 2]); return [b.map((x) => x * 2).toString("hex"), Buffer.isBuffer(b.map((x) => x)), [...b.entries()].length, b.reverse().toString("hex"), b.at(-1)]; }`, `["060204",true,3,"020103",3]`},
		{"unknown encoding", `{ try { Buffer.from("x", "klingon") } catch (e) { return [e.name, e.code] } return 0 }`, `["TypeError","ERR_UNKNOWN_ENCODING"]`},
		{"text decoder", `new TextDecoder().decode(Buffer.from("é"))`, `é`},
	})
}
