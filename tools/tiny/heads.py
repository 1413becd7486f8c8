"""Two small heads on the tiny model's image embeddings, in the layouts that people exchange.

aesthetic.pth: a chain of linear layers with dropout between and no activation (the "linearMSE"
net; one affine map in the end), keys layers.{0,2,4,6,7}. nsfw.pth: normalise, three ReLU layers,
sigmoid, keys norm.{mean,variance}, linear_{1..4}. The widths are scaled to the tiny embedding.
They learn `world.aesthetic` and `Scene.sign`: properties of a toy world.
"""
import os

import torch
import torch.nn.functional as F
from torch import nn

import measure


class Aesthetic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, 128), nn.Dropout(0.2), nn.Linear(128, 64), nn.Dropout(0.2),
            nn.Linear(64, 32), nn.Dropout(0.1), nn.Linear(32, 16), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)[:, 0]


class Norm(nn.Module):
    def __init__(self, mean, variance):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("variance", variance)

    def forward(self, x):
        return (x - self.mean) / torch.sqrt(self.variance)


class Nsfw(nn.Module):
    def __init__(self, mean, variance):
        super().__init__()
        self.norm = Norm(mean, variance)
        self.linear_1 = nn.Linear(len(mean), 64)
        self.linear_2 = nn.Linear(64, 128)
        self.linear_3 = nn.Linear(128, 64)
        self.linear_4 = nn.Linear(64, 1)

    def logit(self, x):
        x = F.relu(self.linear_1(self.norm(x)))
        x = F.relu(self.linear_3(F.relu(self.linear_2(x))))
        return self.linear_4(x)[:, 0]

    def forward(self, x):
        return torch.sigmoid(self.logit(x))


def fit(net, loss, x, y, steps, rate):
    """AdamW with a cosine to zero over random batches; the last weights are the result."""
    opt = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-3)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    pick = torch.Generator().manual_seed(1)
    net.train()
    for _ in range(steps):
        at = torch.randint(len(x), (1024,), generator=pick).to(x.device)
        opt.zero_grad()
        loss(net, x[at], y[at]).backward()
        opt.step()
        plan.step()
    return net.eval()


def train(folder, embedding, label, test_embedding, test_label, steps=3000):
    """embedding [n,d] unit vectors; label [n,2] = aesthetic score, sign. Writes both heads and
    returns their numbers on the test rows."""
    torch.manual_seed(0)
    score, sign = label[:, 0], label[:, 1]
    beauty = Aesthetic(embedding.shape[1]).to(embedding.device)
    with torch.no_grad():
        beauty.layers[7].bias.fill_(float(score.mean()))
    fit(beauty, lambda n, x, y: F.mse_loss(n(x), y), embedding, score, steps, 2e-3)
    safety = Nsfw(embedding.mean(0), embedding.var(0)).to(embedding.device)
    fit(safety, lambda n, x, y: F.binary_cross_entropy_with_logits(n.logit(x), y), embedding, sign,
        steps, 1e-3)
    for net, name in ((beauty, "aesthetic.pth"), (safety, "nsfw.pth")):
        torch.save({k: v.cpu() for k, v in net.state_dict().items()}, os.path.join(folder, name))
    with torch.no_grad():
        return report(beauty(test_embedding), safety(test_embedding), test_label)


def report(beauty, safety, label):
    beauty, safety, label = beauty.cpu().numpy(), safety.cpu().numpy(), label.cpu().numpy()
    return {
        "aesthetic_correlation": measure.correlation(beauty, label[:, 0]),
        "aesthetic_mean_error": round(float(abs(beauty - label[:, 0]).mean()), 4),
        "nsfw_auc": measure.auc(safety, label[:, 1]),
        "nsfw_right_at_0.5": round(float(((safety > 0.5) == (label[:, 1] > 0.5)).mean()), 4),
    }


def load(path):
    """The net of a head file, by its keys."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    if "layers.0.weight" in state:
        net = Aesthetic(state["layers.0.weight"].shape[1])
    else:
        net = Nsfw(state["norm.mean"], state["norm.variance"])
    net.load_state_dict(state)
    return net.eval()
