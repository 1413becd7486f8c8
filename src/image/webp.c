/* webp.c - WebP through libwebp. A still picture, or the first frame of an animation on its
 * canvas, which starts out transparent black. Mode RGB unless the file says it has alpha. */
#include "image/image.h"

#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

int webp_probe(const uint8_t *p, size_t n)
{
    return n >= 16 && !memcmp(p, "RIFF", 4) && !memcmp(p + 8, "WEBP", 4) &&
           (!memcmp(p + 12, "VP8 ", 4) || !memcmp(p + 12, "VP8L", 4) || !memcmp(p + 12, "VP8X", 4));
}

static int status_error(VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return err_bad(BAD_TRUNCATED, "the WebP data ends too early");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return err_bad(BAD_UNSUPPORTED, "a kind of WebP that is not read");
    default: return err_bad(BAD_CORRUPT, "damaged WebP data");
    }
}

static void read_orientation(struct image *out, WebPDemuxer *demux)
{
    WebPChunkIterator it = {0};
    if (WebPDemuxGetChunk(demux, "EXIF", 1, &it)) {
        const uint8_t *p = it.chunk.bytes;
        size_t n = it.chunk.size, skip = n > 6 && !memcmp(p, "Exif\0", 6) ? 6 : 0;
        out->orientation = exif_orientation(p + skip, n - skip);
    }
    WebPDemuxReleaseChunkIterator(&it);
}

/* Into RGBA rows at `out`. With `partly`, what there is is decoded from the top, and rows that do
 * not come stay as they are. */
static VP8StatusCode decode_into(uint8_t *out, size_t stride, const WebPIterator *frame, int partly)
{
    const WebPData *data = &frame->fragment;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return VP8_STATUS_INVALID_PARAM;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * (size_t)(frame->height - 1) + 4 * (size_t)frame->width;
    if (!partly) return WebPDecode(data->bytes, data->size, &config);
    WebPIDecoder *d = WebPIDecode(NULL, 0, &config);
    if (!d) return VP8_STATUS_OUT_OF_MEMORY;
    VP8StatusCode status = WebPIUpdate(d, data->bytes, data->size);
    WebPIDelete(d);
    return status;
}

static int decode_frame(struct image *out, const WebPIterator *frame, int keep)
{
    if (frame->x_offset < 0 || frame->y_offset < 0 || frame->width < 1 || frame->height < 1 ||
        frame->x_offset + frame->width > out->width ||
        frame->y_offset + frame->height > out->height)
        return err_bad(BAD_CORRUPT, "the WebP frame lies outside its canvas");
    WebPBitstreamFeatures f;
    VP8StatusCode status = WebPGetFeatures(frame->fragment.bytes, frame->fragment.size, &f);
    if (status == VP8_STATUS_OK && (f.width != frame->width || f.height != frame->height))
        return err_bad(BAD_CORRUPT, "the WebP frame is of another size than its header says");
    uint8_t *at = out->pixels + (size_t)frame->y_offset * out->stride + 4 * (size_t)frame->x_offset;
    if (status == VP8_STATUS_OK) status = decode_into(at, out->stride, frame, keep);
    if (status == VP8_STATUS_OK) return 0;
    out->damaged = keep;
    return keep ? 0 : status_error(status);
}

/* Canvas, then the frame on it. */
static int decode_canvas(struct image *out, WebPDemuxer *demux, int alpha, int keep,
                         struct arena *a)
{
    uint32_t w = WebPDemuxGetI(demux, WEBP_FF_CANVAS_WIDTH);
    uint32_t h = WebPDemuxGetI(demux, WEBP_FF_CANVAS_HEIGHT);
    WebPIterator frame = {0};
    if (!WebPDemuxGetFrame(demux, 1, &frame))
        return err_bad(BAD_TRUNCATED, "the WebP file has no frame");
    int rc = image_reserve(out, w, h, alpha ? IMAGE_RGBA : IMAGE_RGB, a);
    if (!rc) {
        memset(out->pixels, 0, out->stride * (size_t)out->height);
        read_orientation(out, demux);
        rc = decode_frame(out, &frame, keep);
    }
    WebPDemuxReleaseIterator(&frame);
    return rc;
}

int webp_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a)
{
    WebPBitstreamFeatures features;
    VP8StatusCode status = WebPGetFeatures(p, n, &features);
    if (status != VP8_STATUS_OK) return status_error(status);
    int rc = image_check_size((uint64_t)features.width, (uint64_t)features.height, 4);
    if (rc) return rc;
    WebPData data = {p, n};
    WebPDemuxState state;
    WebPDemuxer *demux = WebPDemuxPartial(&data, &state);
    if (!demux || state == WEBP_DEMUX_PARSE_ERROR)
        rc = err_bad(BAD_CORRUPT, "damaged WebP data");
    else if (state != WEBP_DEMUX_DONE)
        rc = image_damage(out, keep, BAD_TRUNCATED, "the WebP data ends too early");
    if (!rc) rc = decode_canvas(out, demux, features.has_alpha, keep, a);
    WebPDemuxDelete(demux);
    return rc;
}
