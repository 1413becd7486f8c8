"""Seeded captions of the kinds the web has, and of kinds it should not have.

captions(seed, count) gives the same list everywhere. Each is a str without surrogates.
"""
import random

SENTENCES = """
a photo of a cat sitting on a red sofa|Black and white portrait of an old man, 1932|Nike Air Max 90 "Infrared" men's shoes
Stock Vector - Seamless pattern with hand-drawn leaves|IMG_20190504_153012.jpg|don't miss it: 50% OFF!!! we'll ship for free
The cat's whiskers & the dog's bone (2nd ed.)|3.5mm to USB-C adapter -- $12.99|Eiffel Tower at night; Paris, France
Café crème à la carte, garçon! Où est l'hôtel?|Voilà le travail d'une élève française à Genève|Crème brûlée façon grand-mère
Schöne Grüße aus München - Straße, Übergröße, Äpfel|Mädchen mit Blumenstrauß vor der Tür|Größter Käse der Welt
El niño comió piñata en la montaña ¿verdad? ¡Sí!|Fotografía de una mañana en Bogotá|Año nuevo 2020 en España
São Paulo à noite, coração e ilusão|Pão de açúcar às três da manhã àquela hora|Promoção: ação única, não perca
Zażółć gęślą jaźń, Łódź i Kraków|Příliš žluťoučký kůň úpěl ďábelské ódy|Őrült űrhajós, árvíztűrő tükörfúrógép
İstanbul'da güneşli bir gün, çocuklar şarkı söylüyor|DİYARBAKIR ILICA ıssız|Smørrebrød på Østerbro, Århus og Ærø
Фотография кошки на диване, Москва 2015 год|Красивый закат над морем — обои на рабочий стол|Їжак та ґанок, Україна
Η γάτα κάθεται στον καναπέ. ΟΔΟΣ ΟΔΥΣΣΕΥΣ ΣΑΣ|Ελλάδα: ήλιος και θάλασσα|ΑΣ' ΤΟΝ ΜΑΣ
قطة جميلة على الأريكة ٢٠٢٠|صورة فوتوغرافية للبحر|תמונה של חתול על הספה|عکس زیبا از تهران ۱۳۹۸
猫がソファに座っている写真|東京タワーの夜景【2020年】|株式会社ＡＢＣ　ﾃｽﾄ商品 ￥１，２００|黑白猫咪坐在沙发上，高清图片！
소파에 앉아 있는 고양이 사진|서울의 야경 2021|ภาพถ่ายแมวบนโซฟา สวยมาก|सोफे पर बैठी बिल्ली की तस्वीर १२३|সুন্দর ছবি বাংলা
Ảnh con mèo ngồi trên ghế — Việt Nam, Hà Nội|பூனை படம்|ಕನ್ನಡ ಚಿತ್ರ|ქართული კატა|հայերեն կատու|አማርኛ ድመት
cute 😀🐈 cats ❤️ 👨‍👩‍👧‍👦 family 🇩🇪 🏴󠁧󠁢󠁷󠁬󠁳󠁿 ✔|½ price ² ³ ¼ № 5 ™ © ® Ⅷ Ⓐ|x² + y² ≤ √2 ± 5° ÷ ∞ ≠ ∑ ∆ π
“Curly quotes” and ‘single’ ones – it’s nice… “yes„ ‹no› «oui»|ﬁrst ﬂoor oﬃce ﬆyle ﬀ ﬄ Ĳsselmeer Ǆ ŉ ǆ|Ｆｕｌｌ－ｗｉｄｔｈ　ｔｅｘｔ！
price: 5 € or £4 ¥500 ¢99 ₹20 · § 5 ¶|naïve façade coöperate Ångström Noël|Dvořák & Škoda: Čeština
""".strip().replace("\n", "|").split("|")

ENTITIES = """&amp; &lt;b&gt; &gt; &quot; &#39; &#x27; &nbsp; &eacute; &EACUTE; &Eacute; &ntilde; &NTILDE; &hellip; &rsquo;
&#8217; &#x2019; &#150; &#151; &#128; &#0; &#xD800; &#x110000; &#99999999999; &#1; &#11; &#127; &#129; &#xFFFF; &copy &copy2020
&amp;amp; &amp;amp;amp;quot; &amp;lt;br&amp;gt; &notit; &notin; &not &AMP &AMP; &AMPX; &SZLIG; &szlig; &FFLIG; &fjlig; &bne; &BNE;
&Aacute &aacutex &#65 &#x41 &#x41g; &#; &#x; & &; &&amp; &unknown; &ThickSpace; &Atilde;&copy; &ATILDE;&SUP3; &Acirc;&nbsp; &uuml
&euro; &EURO; &trade; &mdash; &ndash; &bull; &laquo;oui&raquo; &frac12; &deg; &times; &zwj; &shy; &#173; &#59; &amp#59;
&CounterClockwiseContourIntegral; &NotEqualTilde; &nvlt; &#13; &#10; &#133; &#x85; &NewLine; &Tab; &para; &paragraph &lang;""".split()

WRONG = ["latin-1", "sloppy-windows-1252", "sloppy-windows-1251", "sloppy-windows-1250",
         "sloppy-windows-1253", "sloppy-windows-1254", "sloppy-windows-1257", "iso-8859-2",
         "macroman", "cp437"]

ODD = ("\u00a0\u00ad\u200b\u200c\u200d\u200e\u202a\u202e\u2028\u2029\u0085\u2060\u206a\ufeff\ufff9"
       "\ufffc\ufffd\u0345\u0300\u0301\u0323\u0307\u0308\u3099\uff9e\u0130\u0131\u017f\u1e9e\u03a3"
       "\u03c2\u212a\u2126\u00b5\u0149\u01c5\u2160\u24b6\u3000\u1680\u202f\ufb05\u1f88\u0390\uffe3"
       "\u11f41\u1e08f\u0f73\u0958\u0340\u0344\u1100\u1161\u11a8\uac00\U00011f41\U0001e4ec\U0001d15e"
       "\x00\x01\x07\x08\x0b\x0c\x0e\x1a\x1b\x1c\x1f\x7f\x80\x81\x85\x8d\x93\x99\x9d\x9f")

SPECIAL = ["<start_of_text>", "<end_of_text>", "<END_OF_TEXT>", "<|startoftext|>", "<|endoftext|>",
           "<\u017ftart_of_text>", "it's", "'ll'", "'\u017f", "I'M", "\x1b[36;44mblue\x1b[0m",
           "\x1b[\u0661m", "\r\n", "\r", "\n", "\t", "<br/>", "http://x.y/a?b=1&c=2&copy=3",
           "don\u2019t", "e\u0301", "a\u030a\u0323", "\u0041\u030a"]


def mojibake(rng, text):
    """UTF-8 read in a wrong encoding, once or twice, sometimes with losses on the way."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        raw = text.encode("utf-8")
        if rng.random() < 0.1:
            raw = text.encode("utf-16", "surrogatepass").decode("utf-16").encode("utf-8")
        text = raw.decode(rng.choice(WRONG), "replace")
    if rng.random() < 0.25:
        text = text.replace("\u00a0", " ")
    if rng.random() < 0.1:
        text = "".join("\ufffd" if "\x80" <= c <= "\x9f" else c for c in text)
    if rng.random() < 0.05:
        text = "".join("?" if c > "\xff" and rng.random() < 0.3 else c for c in text)
    return text


def random_rune(rng):
    top = rng.choice([0x80, 0x100, 0x250, 0x600, 0x3000, 0x10000, 0x20000, 0x110000])
    while True:
        code = rng.randrange(top)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def noise(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(ENTITIES)
    if kind == 1:
        return "".join(rng.choice(ODD) for _ in range(rng.randrange(1, 6)))
    if kind == 2:
        return "".join(random_rune(rng) for _ in range(rng.randrange(1, 12)))
    if kind == 3:
        return rng.choice(SPECIAL)
    return "".join(chr(rng.randrange(0x80, 0x100)) for _ in range(rng.randrange(1, 5)))


def caption(rng):
    text = rng.choice(SENTENCES)
    if rng.random() < 0.3:
        text += rng.choice([" ", " - ", ", ", "\n", " | "]) + rng.choice(SENTENCES)
    if rng.random() < 0.3:
        words = text.split(" ")
        rng.shuffle(words)
        text = " ".join(words)
    if rng.random() < 0.1:
        text = text.upper()
    if rng.random() < 0.35:
        start = rng.randrange(len(text)) if rng.random() < 0.4 else 0
        text = text[:start] + mojibake(rng, text[start:])
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + noise(rng) + text[at:]
    if rng.random() < 0.02:
        text = text * rng.randrange(2, 12)
    return text


def captions(seed, count):
    rng = random.Random(seed)
    return [caption(rng) for _ in range(count)]


ENGLISH = """a the of in on with and for by at photo picture image portrait view stock vector illustration
black white red blue green old new vintage modern beautiful woman man girl boy dog cat horse car house
beach mountain city street night sunset flowers tree water sky kitchen bedroom wedding party logo design
background pattern texture icon set free shipping size men's women's kids shoes dress shirt jacket bag
watch phone case cover poster print canvas art wall decor christmas birthday gift card sale best quality
New York London Paris California Texas 2012 2015 2019 100% cotton leather wood metal glass plastic HD
wallpaper 1080p pack of 12 inch lot brand original series edition premium close-up top front back""".split()


def web_captions(seed, count):
    """Plain captions as most of a web dataset has them: mostly English, some markup."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        if rng.random() < 0.15:
            text = rng.choice(SENTENCES)
        else:
            text = " ".join(rng.choice(ENGLISH) for _ in range(rng.randrange(4, 22)))
            text = text[0].upper() + text[1:]
            if rng.random() < 0.3:
                text += rng.choice([".", "!", ", #" + str(rng.randrange(10000)), " - Etsy", " | eBay"])
            if rng.random() < 0.05:
                text += " &amp; more"
        out.append(text)
    return out
